// The control file system, in a process of its own.
//
// The problem: a process that opens a file on a FUSE file system waits until the server replies. If the session itself
// were the server, `ls /run/sonde` would hang whenever the session is busy, stopped by SIGSTOP or in a debugger. So the
// server is a separate process that never waits for the session.
//
// The server answers most requests alone: names, attributes and the list of a folder come from the plan and never
// change. Only reading and writing involve the session:
//
//     cat FILE       kernel          server                         session
//     open()   ----> OPEN    ---->   open_file: new file handle
//     read()   ----> READ 0  ---->   read_file_at: frame Read ----> runs the handler
//                                    (keeps the request)
//              <---- reply   <----   take_answers            <----  frame Answer with the text
//     read()   ----> READ n  ---->   the rest of the same text
//
// The handler runs once for each read from offset 0. Later reads of the same handle get the stored text, so a reader
// with a small buffer sees one consistent text.
//
// Every request must be answered exactly once, or its caller hangs: with the text, with ETIMEDOUT after two seconds, or
// with ENOTCONN at the session's end.
//
// This file uses the low-level interface of libfuse (fuse_lowlevel.h), because it allows a reply after the callback has
// returned. A reply frees the request, so a callback must not use the request after its reply.
#define FUSE_USE_VERSION 312
#include "runtime/engine/control_files.h"

#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/clock.h"
#include "runtime/engine/control_channel.h"
#include "runtime/plan/kinds.h"

namespace sonde {
namespace {

// How long the server waits for an answer of the session.
constexpr int64_t answer_within_ns = 2'000'000'000;

class ControlFiles {
  public:
    ControlFiles(const plan::Plan& plan, bool has_dump, Fd socket)
        : nodes(control_nodes(plan, has_dump)), text_limit(plan.max_string - 1), channel(std::move(socket)),
          plan_(plan) {}
    ~ControlFiles(); // unmounts the file system and removes the folder
    ControlFiles(const ControlFiles&) = delete;
    ControlFiles& operator=(const ControlFiles&) = delete;

    // Serves requests until the session ends.
    void serve_session();

    std::vector<ControlNode> nodes;
    uint64_t text_limit;
    ControlChannel channel;
    bool session_ended = false;
    // The texts of files that are open for reading, by file handle.
    std::map<uint64_t, std::string> open_files;
    uint64_t next_file = 1, next_question = 1;
    // Reads that wait for an answer of the session, by the frame's id.
    struct Question {
        fuse_req_t request;
        uint64_t file;
        size_t size;
        int64_t deadline_ns;
    };
    std::map<uint64_t, Question> questions;

  private:
    // Creates the folder and mounts the file system. `name` is the session's module name.
    Result<void> mount(const std::string& name);
    // Handles all requests that the kernel has queued.
    void serve_requests();
    // Handles the frames of the session.
    void take_answers();
    // Fails all reads whose deadline is before `now`.
    void give_up_on(int64_t now, int error);
    // Lets other processes close their files before the file system is unmounted.
    void let_go();
    int fd() const { return session_ ? fuse_session_fd(session_) : -1; }
    const plan::Plan& plan_;
    std::string folder_;
    bool made_ = false;
    fuse_session* session_ = nullptr;
};

// Inode numbers of the file system: index into `nodes` + 1, since FUSE gives number 1 to the root folder.
using Number = fuse_ino_t;

ControlFiles& of(fuse_req_t request) { return *static_cast<ControlFiles*>(fuse_req_userdata(request)); }

ControlNode* node_of(fuse_req_t request, Number number) {
    auto& nodes = of(request).nodes;
    return number >= 1 && number <= nodes.size() ? &nodes[number - 1] : nullptr;
}

struct stat attributes(const ControlNode& node, Number number) {
    struct stat out{};
    out.st_ino = number;
    out.st_mode = node.is_folder ? S_IFDIR | 0555 : S_IFREG | node.mode;
    out.st_nlink = node.is_folder ? 2 : 1;
    out.st_uid = getuid();
    out.st_gid = getgid();
    return out;
}

// FUSE callbacks. Each must answer its request exactly once, or store it in `questions`.
void look_up(fuse_req_t request, Number parent, const char* name) {
    auto& nodes = of(request).nodes;
    for (size_t i = 1; i < nodes.size(); i++) {
        if (nodes[i].parent + 1 != parent || nodes[i].name != name)
            continue;
        fuse_entry_param entry{};
        entry.ino = i + 1;
        entry.attr = attributes(nodes[i], entry.ino);
        entry.attr_timeout = entry.entry_timeout = 3600; // seconds; names and attributes never change
        fuse_reply_entry(request, &entry);
        return;
    }
    fuse_reply_err(request, ENOENT);
}

void get_attributes(fuse_req_t request, Number number, fuse_file_info*) {
    ControlNode* node = node_of(request, number);
    if (!node) {
        fuse_reply_err(request, ENOENT);
        return;
    }
    struct stat attr = attributes(*node, number);
    fuse_reply_attr(request, &attr, 3600);
}

// `echo x > FILE` truncates the file first. Accept this without any effect.
void set_attributes(fuse_req_t request, Number number, struct stat*, int what, fuse_file_info* file) {
    if (what & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
        fuse_reply_err(request, EPERM);
    else
        get_attributes(request, number, file);
}

void open_file(fuse_req_t request, Number number, fuse_file_info* file) {
    ControlNode* node = node_of(request, number);
    int access = file->flags & O_ACCMODE;
    if (!node || node->is_folder)
        fuse_reply_err(request, node ? EISDIR : ENOENT);
    else if ((access == O_RDONLY && !node->can_read()) || (access == O_WRONLY && !node->can_write()))
        fuse_reply_err(request, EACCES); // the kernel does not check permissions for root
    else {
        ControlFiles& files = of(request); // a reply frees the request
        file->fh = files.next_file++;
        file->direct_io = 1; // the size is unknown before the handler has run, so the kernel must not cache pages
        file->nonseekable = 0;
        if (fuse_reply_open(request, file) == 0)
            files.open_files[file->fh];
    }
}

// The last descriptor of an open file was closed.
void release_file(fuse_req_t request, Number, fuse_file_info* file) {
    of(request).open_files.erase(file->fh);
    fuse_reply_err(request, 0);
}

// A read from offset 0 runs the handler. Others continue in the text that the handler returned.
void read_file_at(fuse_req_t request, Number number, size_t size, off_t offset, fuse_file_info* file) {
    ControlNode* node = node_of(request, number);
    if (!node || !node->can_read()) {
        fuse_reply_err(request, EACCES);
        return;
    }
    ControlFiles& files = of(request);
    if (offset > 0) {
        const std::string& text = files.open_files[file->fh];
        size_t begin = std::min(static_cast<size_t>(offset), text.size());
        fuse_reply_buf(request, text.data() + begin, std::min(size, text.size() - begin));
        return;
    }
    const int64_t deadline = now_ns() + answer_within_ns;
    const uint64_t id = files.next_question++;
    ControlFrame question{ControlFrame::Read, static_cast<uint32_t>(number - 1), id, deadline, 0};
    if (files.session_ended || !files.channel.send(question, ""))
        fuse_reply_err(request, files.session_ended ? ENOTCONN : ETIMEDOUT);
    else
        files.questions[id] = {request, file->fh, size, deadline};
}

void write_file_at(fuse_req_t request, Number number, const char* bytes, size_t size, off_t, fuse_file_info*) {
    ControlNode* node = node_of(request, number);
    if (!node || !node->can_write()) {
        fuse_reply_err(request, EACCES);
        return;
    }
    ControlFiles& files = of(request);
    std::string text(bytes, std::min<size_t>(strnlen(bytes, size), files.text_limit));
    // The write succeeds without waiting for the handler.
    ControlFrame told{ControlFrame::Write, static_cast<uint32_t>(number - 1), 0, 0, 0};
    if (files.session_ended || !files.channel.send(told, text))
        fuse_reply_err(request, files.session_ended ? ENOTCONN : ETIMEDOUT);
    else
        fuse_reply_write(request, size);
}

// `offset` is the index of the first entry that the caller has not seen yet.
void read_folder(fuse_req_t request, Number number, size_t size, off_t offset, fuse_file_info*) {
    auto& nodes = of(request).nodes;
    std::vector<std::pair<std::string, Number>> entries = {{".", number}, {"..", number}};
    for (size_t i = 1; i < nodes.size(); i++)
        if (nodes[i].parent + 1 == number)
            entries.emplace_back(nodes[i].name, i + 1);
    std::string buffer(size, '\0');
    size_t used = 0;
    for (auto i = static_cast<size_t>(offset); i < entries.size(); i++) {
        struct stat attr = attributes(nodes[entries[i].second - 1], entries[i].second);
        size_t needed = fuse_add_direntry(request, buffer.data() + used, size - used, entries[i].first.c_str(), &attr,
                                          static_cast<off_t>(i + 1));
        if (needed > size - used)
            break;
        used += needed;
    }
    fuse_reply_buf(request, buffer.data(), used);
}

void refuse_create(fuse_req_t request, Number, const char*, mode_t, fuse_file_info*) { fuse_reply_err(request, EPERM); }
void refuse_mknod(fuse_req_t request, Number, const char*, mode_t, dev_t) { fuse_reply_err(request, EPERM); }
void refuse_unlink(fuse_req_t request, Number, const char*) { fuse_reply_err(request, EPERM); }

const fuse_lowlevel_ops operations = [] {
    fuse_lowlevel_ops out{};
    out.lookup = look_up;
    out.getattr = get_attributes;
    out.setattr = set_attributes;
    out.open = open_file;
    out.read = read_file_at;
    out.write = write_file_at;
    out.release = release_file;
    out.readdir = read_folder;
    out.create = refuse_create;
    out.mknod = refuse_mknod;
    out.unlink = refuse_unlink;
    return out;
}();

// Returns the folder that contains the folders of all sessions.
std::string base_folder() {
    if (geteuid() == 0)
        return "/run/sonde";
    const char* own = std::getenv("XDG_RUNTIME_DIR");
    return own && *own ? fmt::format("{}/sonde", own) : fmt::format("/tmp/sonde-{}", getuid());
}

// True if the server of this mounted folder was killed. Only reading the folder shows it, because the kernel caches
// attributes.
bool is_leftover(const std::string& folder) {
    std::error_code error;
    std::filesystem::directory_iterator listed(folder, error);
    return error.value() == ENOTCONN;
}

// Unmounts and removes the folders of killed sessions.
void remove_leftovers_in(const std::string& base) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
        std::string folder = entry.path();
        if (is_leftover(folder) && umount2(folder.c_str(), MNT_DETACH) == 0)
            rmdir(folder.c_str());
    }
}

bool is_mounted(const std::string& folder) {
    struct stat own{}, above{};
    return stat(folder.c_str(), &own) == 0 && stat((folder + "/..").c_str(), &above) == 0 && own.st_dev != above.st_dev;
}

void no_log(fuse_log_level, const char*, va_list) {}

// Adds the node for a probe's file, and the folders in its path. Several probes may share a file.
void add_node(std::vector<ControlNode>& nodes, const plan::Probe& probe) {
    const plan::Point& point = probe.points[0];
    uint64_t parent = 0;
    for (size_t at = 0; at <= point.path.size();) {
        size_t end = std::min(point.path.find('/', at), point.path.size());
        std::string name = point.path.substr(at, end - at);
        bool last = end == point.path.size();
        at = end + 1;
        auto same = [&](const ControlNode& node) {
            return &node != &nodes[0] && node.parent == parent && node.name == name;
        };
        auto found = std::find_if(nodes.begin(), nodes.end(), same);
        if (found == nodes.end()) {
            ControlNode node;
            node.name = name;
            node.parent = parent;
            node.is_folder = !last;
            nodes.push_back(std::move(node));
            found = nodes.end() - 1;
        }
        parent = static_cast<uint64_t>(found - nodes.begin());
    }
    ControlNode& node = nodes[parent];
    node.mode |= point.file.mode;
    if (plan::traits(probe.kind).cause == plan::Cause::Read)
        node.reads = &probe;
    else
        node.writes.push_back(&probe);
}

} // namespace

void remove_leftovers() {
    remove_leftovers_in(base_folder());
    rmdir(base_folder().c_str());
}

std::string control_folder(const std::string& name) { return fmt::format("{}/{}", base_folder(), name); }

std::vector<ControlNode> control_nodes(const plan::Plan& plan, bool has_dump) {
    std::vector<ControlNode> nodes(1);
    nodes[0].is_folder = true;
    for (const plan::Probe& probe : plan.probes)
        if (plan::is_file(probe.kind) && !probe.points[0].path.starts_with("__stdin"))
            add_node(nodes, probe);
    const auto is_taken = [](const ControlNode& node) { return node.parent == 0 && node.name == dump_file; };
    if (has_dump && std::ranges::none_of(nodes, is_taken)) {
        ControlNode node;
        node.name = dump_file;
        node.mode = 0600;
        node.is_dump = true;
        nodes.push_back(std::move(node));
    }
    return nodes;
}

namespace {

// The base folder must belong to this user and must not be writable by others. Otherwise another user could replace the
// session's folder.
Result<void> ControlFiles::mount(const std::string& name) {
    std::string base = base_folder();
    folder_ = base + "/" + name;
    std::string what = fmt::format("cannot make the control files in {}", folder_);
    // A session that ends removes the base folder if it is empty. That can happen between our two calls of mkdir(), so
    // try again.
    constexpr int tries = 100;
    for (int i = 1;; i++) {
        mkdir(base.c_str(), 0755);
        struct stat attr{};
        if (lstat(base.c_str(), &attr) == 0) {
            if (!S_ISDIR(attr.st_mode) || attr.st_uid != geteuid() || (attr.st_mode & (S_IWGRP | S_IWOTH)))
                return Error(fmt::format("{}: {} belongs to another user, or is writable by others", what, base));
            remove_leftovers_in(base);
            if (mkdir(folder_.c_str(), 0755) == 0 || errno == EEXIST)
                break;
        }
        if (errno != ENOENT || i == tries)
            return errno_error(what, errno);
    }
    if (is_mounted(folder_))
        return Error(fmt::format("{}: another session has the name `{}`; choose another name with -m", what, name));
    made_ = true;
    if (access("/dev/fuse", F_OK) != 0)
        return Error(fmt::format(
            "{}: /dev/fuse does not exist (the kernel's module `fuse` is not loaded, or a container hides it)", what));
    fuse_set_log_func(no_log);
    std::string options = "fsname=sonde,subtype=sonde,default_permissions";
    if (geteuid() == 0)
        options += ",allow_other";
    const char* arguments[] = {"sonde", "-o", options.c_str()};
    fuse_args args = FUSE_ARGS_INIT(3, const_cast<char**>(arguments));
    session_ = fuse_session_new(&args, &operations, sizeof operations, this);
    fuse_opt_free_args(&args);
    errno = 0;
    if (!session_ || fuse_session_mount(session_, folder_.c_str()) != 0) {
        if (session_)
            fuse_session_destroy(session_);
        session_ = nullptr;
        return errno_error(what, errno ? errno : EPERM);
    }
    fcntl(fd(), F_SETFL, fcntl(fd(), F_GETFL) | O_NONBLOCK);
    return {};
}

void ControlFiles::give_up_on(int64_t now, int error) {
    for (auto at = questions.begin(); at != questions.end();) {
        if (at->second.deadline_ns > now) {
            ++at;
            continue;
        }
        fuse_reply_err(at->second.request, error);
        at = questions.erase(at);
    }
}

void ControlFiles::take_answers() {
    session_ended = !channel.receive();
    ControlFrame frame;
    std::string text;
    while (channel.take(frame, text)) {
        if (frame.kind == ControlFrame::Mount) {
            Result<void> mounted = mount(plan_.module);
            channel.send({ControlFrame::Answer, 0, 0, 0, 0}, mounted ? "" : mounted.error().message);
            continue;
        }
        auto question = questions.find(frame.id);
        if (question == questions.end())
            continue; // the reader got ETIMEDOUT already
        const Question& asked = question->second;
        fuse_reply_buf(asked.request, text.data(), std::min(asked.size, text.size()));
        // The reader may have closed the file before the answer arrived.
        if (auto file = open_files.find(asked.file); file != open_files.end())
            file->second = text;
        questions.erase(question);
    }
}

// The server's loop: wait for the session, the kernel or the next deadline.
void ControlFiles::serve_session() {
    while (!session_ended) {
        int64_t now = now_ns(), next = INT64_MAX;
        give_up_on(now, ETIMEDOUT);
        for (const auto& [id, question] : questions)
            next = std::min(next, question.deadline_ns - now);
        auto events = static_cast<short>(POLLIN | (channel.has_unsent() ? POLLOUT : 0));
        pollfd ready[] = {{channel.fd(), events, 0}, {fd(), POLLIN, 0}};
        poll(ready, 2, questions.empty() ? -1 : static_cast<int>(next / 1000000) + 1);
        channel.flush();
        take_answers();
        serve_requests();
    }
}

// A user who ended the session by writing to a file still has to close the file. Others may be in the same situation.
void ControlFiles::let_go() {
    constexpr int turns = 20, turn_ms = 10;
    give_up_on(INT64_MAX, ENOTCONN);
    for (int i = 0; i < turns && !open_files.empty(); i++) {
        pollfd ready{fd(), POLLIN, 0};
        poll(&ready, 1, turn_ms);
        serve_requests();
    }
}

ControlFiles::~ControlFiles() {
    if (session_) {
        let_go();
        fuse_session_unmount(session_);
        fuse_session_destroy(session_);
    }
    if (made_) {
        rmdir(folder_.c_str());
        rmdir(base_folder().c_str()); // succeeds for the last session only
    }
}

void ControlFiles::serve_requests() {
    fuse_buf buffer{};
    if (!session_)
        return;
    while (fuse_session_receive_buf(session_, &buffer) > 0)
        fuse_session_process_buf(session_, &buffer);
    std::free(buffer.mem);
}

} // namespace

void serve_control_files(const plan::Plan& plan, bool has_dump, Fd socket) {
    ControlFiles files(plan, has_dump, std::move(socket));
    files.serve_session();
}

// ---- standard input -------------------------------------------------------------------------------------------------

StandardInput::StandardInput(const plan::Plan& plan, RunFileHandler run)
    : run_(std::move(run)), limit_(plan.max_string - 1) {
    for (const plan::Probe& probe : plan.probes)
        if (plan::traits(probe.kind).cause == plan::Cause::Write)
            for (const plan::Point& point : probe.points) {
                if (point.path == "__stdin")
                    characters_.push_back(&probe);
                else if (point.path == "__stdin_line")
                    lines_.push_back(&probe);
            }
    if (characters_.empty() && lines_.empty())
        return;
    fd_ = STDIN_FILENO;
    if (tcgetattr(fd_, &before_) != 0)
        return;
    // Without ECHO, the terminal shows only what handlers print.
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    changed_ = tcsetattr(fd_, TCSANOW, &now) == 0;
}

StandardInput::~StandardInput() {
    if (changed_)
        tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void StandardInput::serve(const std::function<bool()>& stop) {
    char bytes[4096];
    ssize_t got = read(fd_, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0)
        fd_ = -1;
    for (ssize_t i = 0; i < got && !stop(); i++) {
        for (const plan::Probe* probe : characters_)
            if (!stop())
                run_(*probe, std::string(1, bytes[i]), limit_);
        if (line_.size() < limit_)
            line_ += bytes[i];
        if (bytes[i] != '\n')
            continue;
        for (const plan::Probe* probe : lines_)
            if (!stop())
                run_(*probe, line_, limit_);
        line_.clear();
    }
}

} // namespace sonde
