// The problem: write() can block without a limit, for example if a terminal is stopped with Ctrl-S, a pipe's reader
// pauses, or an NFS server does not respond. Meanwhile the kernel's ring buffers would overflow, and Ctrl-C would seem
// to have no effect. The thread that reads events must never wait for a reader of the output.
//
// The idea: that thread only appends texts to a queue, and another thread writes them. Some details matter:
//
// * A queue has a limit. Messages have an additional reserve, so that warnings still fit when printed text has filled
//   the queue. Text without room is counted and reported.
// * Ending must be possible while write() blocks. So stop() sends the thread a signal whose handler does nothing, which
//   makes write() return with EINTR. If even that does not help, the thread is abandoned together with its State. This
//   is why State is a separate object that the thread may outlive.
// * "Waiting for a reader that makes progress" needs to see progress inside one long write(). progress() also queries
//   the amount of data in the pipe or terminal.
// * The mutex is not held during write(), or push() would block, too.
#include "runtime/text/writer.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/trusted_file.h"
#include "runtime/kernel/privileges.h"

namespace sonde {
namespace {

constexpr size_t piece_bytes = 64 << 10;   // size of one write(), so that progress can be detected between two
constexpr size_t merge_bytes = 64 << 10;   // small texts are combined up to this size
constexpr uint64_t said_reserve = 1 << 20; // room for messages only
constexpr auto slice = std::chrono::milliseconds(10);
// This signal interrupts a blocked write(). By default it is ignored. So it does no harm if another program sends it.
constexpr int nudge = SIGURG;

uint64_t count_lines(const char* begin, const char* end) { return static_cast<uint64_t>(std::count(begin, end, '\n')); }

} // namespace

struct Writer::State {
    struct Item {
        Stream stream = Printed;
        bool is_gate = false, opens = false;
        std::string text, path, old; // opens: the new file, and the file to remove
    };
    uint64_t capacity = 0;
    pthread_t thread{};

    mutable std::mutex mutex;
    std::condition_variable work, done; // a text was queued; a text was written
    // Protected by the mutex.
    std::deque<Item> items;
    uint64_t queued = 0; // bytes, including those that are being written
    uint64_t open_gates = 0;
    bool writing = false, stopping = false, ended = false;
    Loss loss[2];
    std::optional<Error> failure;
    // The thread's alone, but for stop().
    Item current;
    std::atomic<size_t> current_done = 0;
    std::string first_path;
    Fd file;

    std::atomic<int> fd[2] = {1, 2};
    std::atomic<uint64_t> written = 0;
    std::atomic<bool> failed = false, stop_asked = false;
    Fd failure_event;

    void run();
    void switch_to(const std::string& path);
    void write_current();
    void fail(const std::string& what, int error);
    void fail(Error error);
    bool at_gate() const { return !items.empty() && items.front().is_gate && open_gates == 0; }
    bool is_idle() const { return !writing && (items.empty() || at_gate()); }
    // A number that changes while the reader reads.
    uint64_t progress() const;
    void count_lost(Stream stream, const std::string& text, size_t from) {
        loss[stream].lines += count_lines(text.data() + from, text.data() + text.size());
        loss[stream].bytes += text.size() - from;
    }
};

Writer::Writer() = default;

Result<std::unique_ptr<Writer>> Writer::start(uint64_t capacity, Fd file, const std::string& path) {
    std::unique_ptr<Writer> out(new Writer());
    out->state_ = std::make_unique<State>();
    State& state = *out->state_;
    state.capacity = capacity;
    state.failure_event = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (file) {
        state.file = std::move(file);
        state.fd[Printed] = state.file.get();
    } else {
        state.first_path = path;
    }
    struct sigaction interrupt{};
    interrupt.sa_handler = [](int) {}; // without SA_RESTART
    sigaction(nudge, &interrupt, nullptr);
    // Block all signals, so that the session's other threads handle them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(
        &state.thread, nullptr,
        [](void* opaque) -> void* {
            static_cast<State*>(opaque)->run();
            return nullptr;
        },
        &state);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error) {
        out->state_.reset();
        return errno_error("cannot start the thread that writes the output", error);
    }
    return out;
}

Writer::~Writer() {
    stop();
    if (state_ && !state_->ended) {
        [[maybe_unused]] State* running = state_.release(); // now the thread owns it
    }
}

// The thread's main function: takes items from the queue and writes them.
void Writer::State::run() {
    keep_capabilities({CAP_DAC_OVERRIDE}); // to create the next file of -S
    sigset_t interrupts;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, nudge);
    pthread_sigmask(SIG_UNBLOCK, &interrupts, nullptr);
    if (!first_path.empty())
        switch_to(first_path);
    std::unique_lock lock(mutex);
    while (true) {
        work.wait(lock, [&] { return stopping || (!items.empty() && !at_gate()); });
        if (stopping)
            break;
        current = std::move(items.front());
        current_done = 0;
        items.pop_front();
        if (current.is_gate) {
            open_gates--;
            continue;
        }
        writing = true;
        lock.unlock();
        if (current.opens)
            switch_to(current.path);
        if (!current.old.empty())
            unlink(current.old.c_str()); // ignore errors: it may be removed already
        write_current();
        lock.lock();
        if (stopping)
            break;
        queued -= current.text.size();
        current.text.clear();
        current_done = 0;
        writing = false;
        done.notify_all();
    }
    ended = true;
    done.notify_all();
}

// Opening can block (a FIFO without a reader) and is interrupted by stop(). Keeps the current file if the new one
// cannot be created.
void Writer::State::switch_to(const std::string& path) {
    Fd opened;
    while (!opened && !stop_asked) {
        Result<Fd> created = create_file(path);
        if (!created && created.error().os_error != EINTR)
            return fail(created.error());
        if (created)
            opened = *std::move(created);
    }
    if (!opened)
        return;
    std::swap(file, opened);
    fd[Printed] = file.get();
}

void Writer::State::fail(const std::string& what, int error) { fail(errno_error(what, error)); }

void Writer::State::fail(Error error) {
    {
        std::lock_guard lock(mutex);
        if (!failure)
            failure = std::move(error);
    }
    failed = true;
    uint64_t one = 1;
    static_cast<void>(::write(failure_event.get(), &one, sizeof one));
    done.notify_all();
}

// Writes in pieces, so that current_done and `written` show progress. Drops printed text after a failure.
void Writer::State::write_current() {
    const std::string& text = current.text;
    while (current_done < text.size() && !stop_asked) {
        if (current.stream == Printed && failed)
            return;
        const int to = fd[current.stream];
        ssize_t wrote = ::write(to, text.data() + current_done, std::min(text.size() - current_done, piece_bytes));
        if (wrote > 0) {
            current_done += static_cast<size_t>(wrote);
            written += static_cast<uint64_t>(wrote);
        } else if (wrote < 0 && errno == EAGAIN) {
            // Another program made the shared terminal or pipe non-blocking.
            pollfd ready{to, POLLOUT, 0};
            poll(&ready, 1, 100);
        } else if (wrote < 0 && errno != EINTR) {
            if (current.stream == Said)
                return; // ignore errors: standard error cannot report its own failure
            fail("cannot write the output", errno);
        }
    }
}

uint64_t Writer::State::progress() const {
    uint64_t sum = written * 4;
    for (const std::atomic<int>& one : fd) {
        int waiting = 0; // a pipe's unread data, or a terminal's or socket's unsent data
        if (ioctl(one, FIONREAD, &waiting) == 0)
            sum += static_cast<uint64_t>(waiting);
        if (ioctl(one, TIOCOUTQ, &waiting) == 0)
            sum += static_cast<uint64_t>(waiting);
    }
    return sum;
}

// An empty queue accepts a text of any size. Otherwise a text larger than the capacity could never be written.
bool Writer::push(Stream stream, std::string& text) {
    State& state = *state_;
    std::lock_guard lock(state.mutex);
    const uint64_t limit = state.capacity + (stream == Said ? said_reserve : 0);
    if (state.queued && state.queued + text.size() > limit)
        return false;
    if ((stream == Printed && state.failed) || state.stopping) {
        text.clear();
        return true;
    }
    state.queued += text.size();
    if (!state.items.empty()) {
        State::Item& last = state.items.back();
        if (!last.is_gate && last.stream == stream && last.text.size() + text.size() <= merge_bytes) {
            last.text += text;
            text.clear();
            return true;
        }
    }
    State::Item& item = state.items.emplace_back();
    item.stream = stream;
    item.text = std::exchange(text, {});
    state.work.notify_one();
    return true;
}

void Writer::go_on_in(const std::string& path, const std::string& old) {
    std::lock_guard lock(state_->mutex);
    State::Item& item = state_->items.emplace_back();
    item.opens = true;
    item.path = path;
    item.old = old;
    state_->work.notify_one();
}

void Writer::count_lost(Stream stream, const std::string& text) {
    std::lock_guard lock(state_->mutex);
    state_->count_lost(stream, text, 0);
}

void Writer::put_gate() {
    std::lock_guard lock(state_->mutex);
    state_->items.emplace_back().is_gate = true;
}

void Writer::open_gate() {
    std::lock_guard lock(state_->mutex);
    state_->open_gates++;
    state_->work.notify_one();
}

// Sleeps in short slices instead of waiting for `done` only: `give_up` and the progress of the reader must be
// checked although the thread is blocked in write().
bool Writer::wait(Patience patience, const GiveUp& give_up, const std::function<bool()>& reached) {
    const int64_t began = now_ns();
    int64_t last_progress = began;
    uint64_t progress = state_->progress();
    std::unique_lock lock(state_->mutex);
    while (!reached()) {
        int64_t now = now_ns();
        if (state_->stopping || now - began >= patience.total || now - last_progress >= patience.without_progress)
            return false;
        state_->done.wait_for(
            lock, std::min<std::chrono::nanoseconds>(slice, std::chrono::nanoseconds(patience.total - (now - began))));
        lock.unlock();
        bool gives_up = give_up();
        if (uint64_t at = state_->progress(); at != progress) {
            progress = at;
            last_progress = now_ns();
        }
        lock.lock();
        if (gives_up)
            return reached();
    }
    return true;
}

bool Writer::wait_for_room(size_t size, Patience patience, const GiveUp& give_up) {
    State& state = *state_;
    return wait(patience, give_up,
                [&] { return state.queued == 0 || state.queued + size <= state.capacity || state.failed; });
}

bool Writer::wait_until_written(Patience patience, const GiveUp& give_up) {
    return wait(patience, give_up, [&] { return state_->is_idle(); });
}

// The signal may arrive just before the thread calls write(), and would then have no effect. So send it repeatedly.
void Writer::stop() {
    if (!state_)
        return;
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    if (state.stopping)
        return;
    state.stopping = true;
    state.stop_asked = true;
    state.work.notify_one();
    constexpr int turns = 100;
    for (int i = 0; i < turns && !state.ended; i++) {
        lock.unlock();
        pthread_kill(state.thread, nudge);
        lock.lock();
        if (!state.ended)
            state.done.wait_for(lock, std::chrono::milliseconds(2));
    }
    if (!(state.failed && state.current.stream == Printed))
        state.count_lost(state.current.stream, state.current.text, state.current_done);
    for (const State::Item& item : state.items)
        if (!(state.failed && item.stream == Printed))
            state.count_lost(item.stream, item.text, 0);
    bool ended = state.ended;
    lock.unlock();
    if (ended)
        pthread_join(state.thread, nullptr);
    else
        pthread_detach(state.thread);
}

Writer::Loss Writer::lost(Stream stream) const {
    std::lock_guard lock(state_->mutex);
    return state_->loss[stream];
}

uint64_t Writer::queued_lines() const {
    std::lock_guard lock(state_->mutex);
    uint64_t lines = 0;
    for (const State::Item& item : state_->items)
        lines += count_lines(item.text.data(), item.text.data() + item.text.size());
    return lines;
}

std::optional<Error> Writer::failure() const {
    if (!state_->failed)
        return {};
    std::lock_guard lock(state_->mutex);
    return state_->failure;
}

int Writer::failure_fd() const { return state_->failure_event.get(); }

} // namespace sonde
