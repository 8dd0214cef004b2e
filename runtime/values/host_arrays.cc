// Two implementations of HostArray, and sorting for foreach.
//
// KernelArray shares its maps with handlers that run at the same time on other processors. Two consequences:
// * A snapshot is not atomic. An element that is inserted or deleted meanwhile may be missing. The walk may visit an
// element twice; by_insertion() removes such duplicates.
// * Arrays that wrap follow the protocol of codegen/rtlib/wrap.bpf.c step by step, with the same atomic operations in
//   the same order. If one side changed the order, the other could evict a new element instead of the oldest.
#include "runtime/values/host_arrays.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "runtime/plan/array_maps.h"
#include "runtime/plan/shared_globals.h"
#include "runtime/plan/wrap.h"
#include "runtime/values/array_values.h"
#include "runtime/values/histogram.h"

namespace sonde {
namespace {

// An array in this process. Elements are stored by insertion number, and an index maps keys to numbers.
class MemoryArray final : public HostArray {
  public:
    explicit MemoryArray(const plan::Global& global) : global_(global) {}

    bool load(const std::string& key, std::string& payload) override {
        auto found = index_.find(key);
        if (found == index_.end())
            return false;
        payload = elements_[found->second].payload;
        return true;
    }
    HostStatus store(const std::string& key, const std::string& payload) override {
        auto found = index_.find(key);
        if (found != index_.end()) {
            elements_[found->second].payload = payload;
            return HostOk;
        }
        if (index_.size() >= global_.capacity) {
            if (!global_.wrap)
                return HostArrayFull;
            erase(elements_.begin()->second.key);
        }
        uint64_t number = ++next_;
        elements_[number] = {number, key, payload};
        index_[key] = number;
        return HostOk;
    }
    void erase(const std::string& key) override {
        auto found = index_.find(key);
        if (found == index_.end())
            return;
        elements_.erase(found->second);
        index_.erase(found);
    }
    void erase_all() override {
        elements_.clear();
        index_.clear();
    }
    std::vector<ArrayElement> snapshot() override {
        std::vector<ArrayElement> out;
        for (const auto& [number, element] : elements_)
            out.push_back(element);
        return out;
    }

  private:
    const plan::Global& global_;
    std::unordered_map<std::string, uint64_t> index_;
    std::map<uint64_t, ArrayElement> elements_; // by insertion number
    uint64_t next_ = 0;
};

// An array in a hash map of the kernel. A value in the map begins with the insertion number of its element (8 bytes).
class KernelArray final : public HostArray {
  public:
    KernelArray(const plan::Global& global, int fd, plan::SessionWords* words, int order_fd)
        : global_(global), fd_(fd), words_(words), order_fd_(order_fd) {}

    bool load(const std::string& key, std::string& payload) override {
        std::string value;
        if (find(key, value) != Found::Element)
            return false;
        payload = value.substr(8, global_.value_size - 8);
        return true;
    }
    HostStatus store(const std::string& key, const std::string& payload) override {
        std::string value;
        const Found found = find(key, value);
        if (found == Found::Other)
            return HostSameIdentity;
        if (found == Found::Nothing) {
            uint64_t number =
                global_.wrap ? draw_number(key) : __atomic_fetch_add(&insertion(), 1, __ATOMIC_RELAXED) + 1;
            std::memcpy(value.data(), &number, 8);
        }
        std::memcpy(value.data() + 8, payload.data(), std::min<size_t>(payload.size(), global_.value_size - 8));
        if (has_identities_)
            std::ranges::copy(key, value.data() + global_.value_size);
        const std::string map_key = map_key_of(key);
        int failed = bpf_map_update_elem(fd_, map_key.data(), value.data(), BPF_ANY);
        // A handler in the kernel may use the free space first, so try several times.
        for (int tries = 3; failed && global_.wrap && tries > 0; tries--) {
            evict_oldest();
            failed = bpf_map_update_elem(fd_, map_key.data(), value.data(), BPF_ANY);
        }
        return failed ? HostArrayFull : HostOk;
    }
    void erase(const std::string& key) override {
        std::string value;
        if (find(key, value) == Found::Element)
            bpf_map_delete_elem(fd_, map_key_of(key).data());
    }
    void erase_all() override {
        if (!visit_batches(bpf_map_lookup_and_delete_batch, [](const char*, const char*) {}))
            for (const ArrayElement& element : snapshot())
                erase(element.key);
    }
    std::vector<ArrayElement> snapshot() override {
        std::vector<ArrayElement> out;
        auto add = [&](const char* key, const char* value) {
            ArrayElement& element = out.emplace_back();
            std::memcpy(&element.insertion, value, 8);
            element.key.assign(has_identities_ ? value + global_.value_size : key, global_.key_size);
            element.payload.assign(value + 8, global_.value_size - 8);
        };
        if (!visit_batches(bpf_map_lookup_batch, add)) {
            out.clear();
            visit_singly(add);
        }
        return by_insertion(std::move(out));
    }

  private:
    // The map's key for a key of the array.
    std::string map_key_of(const std::string& key) const {
        if (!has_identities_)
            return key;
        const sonde_identity identity = plan::identity_of(global_, key);
        return {reinterpret_cast<const char*>(&identity), sizeof identity};
    }
    // The result of a search; Other: an element whose key has the same identity.
    enum class Found { Nothing, Element, Other };
    Found find(const std::string& key, std::string& value) const {
        value.assign(value_size_, '\0');
        if (bpf_map_lookup_elem(fd_, map_key_of(key).data(), value.data()) != 0)
            return Found::Nothing;
        return has_identities_ && value.compare(global_.value_size, global_.key_size, key) != 0 ? Found::Other
                                                                                                : Found::Element;
    }

    // The counter of insertions: that of the session, or that of all plans which share the array.
    uint64_t& insertion() {
        return plan::is_shared(global_)
                   ? *reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(words_) + plan::shared_insertion)
                   : words_->insertion;
    }

    // ---- arrays that wrap (see runtime/plan/wrap.h; codegen/rtlib/wrap.bpf.c does the same in the kernel)

    sonde_wrap& wrap() { return *reinterpret_cast<sonde_wrap*>(reinterpret_cast<char*>(words_) + global_.offset); }
    // Returns the place of a number in the second map: the stored number, then the key.
    std::string read_place(uint64_t number) {
        uint32_t at = static_cast<uint32_t>(number) & (sonde_wrap_places(global_.capacity) - 1);
        std::string place(8 + ((global_.key_size + 7ull) & ~7ull), '\0');
        bpf_map_lookup_elem(order_fd_, &at, place.data());
        return place;
    }
    static uint64_t number_of(const std::string& bytes) {
        uint64_t number = 0;
        std::memcpy(&number, bytes.data(), sizeof number);
        return number;
    }
    // Returns the number of the element with the key in `place`; 0 if no such element exists.
    uint64_t number_of_element(const std::string& place) {
        std::string value(global_.value_size, '\0');
        return bpf_map_lookup_elem(fd_, place.data() + 8, value.data()) == 0 ? number_of(value) : 0;
    }
    // Takes the next insertion number and stores the key in its place in the second map. If the place still has the key
    // of an older element, that element becomes unlisted.
    uint64_t draw_number(const std::string& key) {
        const uint64_t number = __atomic_fetch_add(&wrap().newest, 1, __ATOMIC_SEQ_CST) + 1;
        uint32_t at = static_cast<uint32_t>(number) & (sonde_wrap_places(global_.capacity) - 1);
        std::string place = read_place(number);
        if (uint64_t before = number_of(place);
            before > __atomic_load_n(&wrap().passed, __ATOMIC_SEQ_CST) && number_of_element(place) == before)
            __atomic_store_n(&wrap().unlisted, 1, __ATOMIC_SEQ_CST);
        std::copy_n(key.data(), global_.key_size, place.data() + 8);
        // 0 first, so that no reader combines the new number with the old key.
        for (uint64_t shown : {uint64_t{0}, number}) {
            std::memcpy(place.data(), &shown, sizeof shown);
            bpf_map_update_elem(order_fd_, &at, place.data(), BPF_ANY);
        }
        return number;
    }
    // Deletes the oldest element. Usually the second map has its key. If unlisted elements may exist, they are older
    // than all others, and a snapshot finds the oldest one.
    void evict_oldest() {
        const uint64_t places = sonde_wrap_places(global_.capacity);
        while (!__atomic_load_n(&wrap().unlisted, __ATOMIC_SEQ_CST)) {
            unsigned long long passed = __atomic_load_n(&wrap().passed, __ATOMIC_SEQ_CST);
            uint64_t number = passed + 1;
            const uint64_t newest = __atomic_load_n(&wrap().newest, __ATOMIC_SEQ_CST);
            if (passed >= newest)
                break;
            const std::string place = read_place(number);
            const uint64_t there = number_of(place);
            if (there < number) { // another processor is still writing this place
                if (newest - number < places / 2)
                    break;
                __atomic_store_n(&wrap().unlisted, 1, __ATOMIC_SEQ_CST);
            }
            if (!__atomic_compare_exchange_n(&wrap().passed, &passed, number, false, __ATOMIC_SEQ_CST,
                                             __ATOMIC_SEQ_CST) ||
                there != number || number_of_element(place) != number)
                continue;
            bpf_map_delete_elem(fd_, place.data() + 8);
            return;
        }
        __atomic_store_n(&wrap().unlisted, 0, __ATOMIC_SEQ_CST);
        const std::vector<ArrayElement> all = snapshot();
        if (all.empty())
            return;
        if (all.front().insertion <= __atomic_load_n(&wrap().passed, __ATOMIC_SEQ_CST))
            __atomic_store_n(&wrap().unlisted, 1, __ATOMIC_SEQ_CST);
        erase(all.front().key);
    }

    // Sorts by insertion number and removes duplicates: a walk that started again has visited some elements twice.
    static std::vector<ArrayElement> by_insertion(std::vector<ArrayElement> elements) {
        std::vector<std::pair<uint64_t, size_t>> sorted;
        for (size_t i = 0; i < elements.size(); i++)
            sorted.emplace_back(elements[i].insertion, i);
        std::sort(sorted.begin(), sorted.end());
        std::vector<ArrayElement> out;
        out.reserve(elements.size());
        for (const auto& [insertion, i] : sorted)
            if (out.empty() || out.back().insertion != insertion || out.back().key != elements[i].key)
                out.push_back(std::move(elements[i]));
        return out;
    }

    using Batch = int (*)(int, void*, void*, void*, void*, uint32_t*, const bpf_map_batch_opts*);
    // Reads all elements with the map's batch operations (Linux 5.6), hundreds in one system call. A handler in the
    // kernel may be waiting for this handler, so speed matters. Returns false if the kernel does not support batches.
    template <typename Visit> bool visit_batches(Batch read, Visit visit) {
        constexpr uint64_t bytes = 256 << 10;
        auto most = static_cast<uint32_t>(std::clamp<uint64_t>(bytes / (key_size_ + value_size_), 16, 1024));
        uint32_t bucket = 0; // the position of the next batch, an opaque number of the kernel
        std::unique_ptr<char[]> keys, values;
        for (bool first = true;;) {
            if (!keys) {
                keys = std::make_unique_for_overwrite<char[]>(uint64_t{most} * key_size_);
                values = std::make_unique_for_overwrite<char[]>(uint64_t{most} * value_size_);
            }
            uint32_t count = most;
            bpf_map_batch_opts options{};
            options.sz = sizeof options;
            uint32_t next = 0;
            int failed = read(fd_, first ? nullptr : &bucket, &next, keys.get(), values.get(), &count, &options);
            // One bucket of the hash map has more elements than the buffer.
            if (failed == -ENOSPC && most < global_.capacity) {
                most *= 2;
                keys.reset();
                continue;
            }
            if (failed && failed != -ENOENT) // ENOENT marks the last batch
                return false;
            for (uint64_t i = 0; i < count; i++)
                visit(keys.get() + i * key_size_, values.get() + i * value_size_);
            if (failed)
                return true;
            bucket = next;
            first = false;
        }
    }
    // Reads the elements one after the other.
    template <typename Visit> void visit_singly(Visit visit) {
        std::string key(key_size_, '\0'), next(key_size_, '\0'), value(value_size_, '\0');
        const void* at = nullptr;
        // If the current element is deleted, the kernel restarts the walk. The limit on steps guarantees an end.
        for (uint64_t steps = 0; steps < 2 * global_.capacity + 16 && bpf_map_get_next_key(fd_, at, next.data()) == 0;
             steps++) {
            key = next;
            at = key.data();
            if (bpf_map_lookup_elem(fd_, key.data(), value.data()) == 0)
                visit(key.data(), value.data());
        }
    }

    const plan::Global& global_;
    int fd_;
    plan::SessionWords* words_;
    int order_fd_; // -1: the array does not wrap
    // Of the map:
    const bool has_identities_ = plan::has_identities(global_);
    const uint32_t key_size_ = plan::map_key_size(global_), value_size_ = plan::map_value_size(global_);
};

int64_t number_at(const std::string& bytes, size_t at) {
    int64_t value = 0;
    if (at + 8 <= bytes.size())
        std::memcpy(&value, bytes.data() + at, 8);
    return value;
}

template <typename T> int order(const T& a, const T& b) { return a < b ? -1 : b < a; }

int compare_strings(const std::string& a, const std::string& b, size_t at, size_t size) {
    return std::strncmp(a.data() + at, b.data() + at, size);
}

// `what` is HostForeach::sort_stat: count, sum, min, max, avg, variance (5) or percentile.
// Returns the number that a foreach statement sorts statistics by.
int64_t stat_value(const plan::StatsNeeds& needs, const ArrayElement& element, int32_t what, int64_t percentile) {
    plan::StatsBlock block{};
    std::memcpy(&block, element.payload.data(), std::min(sizeof block, element.payload.size()));
    const StatsView view{&block, nullptr};
    const auto percentile_of = [&](const Statistic& all) {
        return StatsView{&all.block, all.buckets.data()}.percentile(needs, percentile);
    };
    switch (what) {
    case 0:
        return static_cast<int64_t>(block.count);
    case 1:
        return block.sum;
    case 2:
        return view.min();
    case 3:
        return view.max();
    case 4:
        return view.avg();
    case 6:
        return block.count ? percentile_of(statistic_of(needs, element.payload.data())) : 0;
    default:
        return view.variance();
    }
}

} // namespace

std::unique_ptr<HostArray> make_host_array(const plan::Global& global) { return std::make_unique<MemoryArray>(global); }
std::unique_ptr<HostArray> make_kernel_array(const plan::Global& global, int map_fd, plan::SessionWords* words,
                                             int order_fd) {
    return std::make_unique<KernelArray>(global, map_fd, words, order_fd);
}

bool matches_slice(const plan::Global& global, const std::string& key, uint64_t mask, const void* slice) {
    const char* wanted = static_cast<const char*>(slice);
    for (size_t i = 0; i < global.keys.size(); i++) {
        const plan::KeyPart& part = global.keys[i];
        if ((mask & (1ull << i)) && std::memcmp(key.data() + part.offset, wanted + part.offset, part.size) != 0)
            return false;
    }
    return true;
}

// Sorts indexes and not elements, since elements are large. Elements that compare equal keep their order of insertion.
void sort_elements(const plan::Global& global, uint32_t max_string, const HostForeach& spec,
                   std::vector<ArrayElement>& elements) {
    if (spec.sort_direction == 0)
        return;
    const bool by_key = spec.sort_column > 0;
    const plan::KeyPart part = by_key ? global.keys[static_cast<size_t>(spec.sort_column - 1)] : plan::KeyPart{};
    const plan::Value type = by_key ? part.type : global.type;
    auto text_of = [&](size_t i) -> const std::string& { return by_key ? elements[i].key : elements[i].payload; };
    std::vector<int64_t> ranks;
    if (type != plan::Value::String)
        for (const ArrayElement& element : elements)
            ranks.push_back(by_key ? plan::number_in(part, element.key.data())
                            : type == plan::Value::Stats
                                ? stat_value(global.stats, element, spec.sort_stat, spec.sort_percentile)
                                : number_at(element.payload, 0));
    auto compare = [&](size_t a, size_t b) {
        return type != plan::Value::String ? order(ranks[a], ranks[b])
               : by_key                    ? compare_strings(text_of(a), text_of(b), part.offset, part.size)
                                           : compare_strings(text_of(a), text_of(b), 0, max_string);
    };
    std::vector<size_t> sorted(elements.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    size_t wanted = spec.limit < 0 ? sorted.size() : std::min(sorted.size(), static_cast<size_t>(spec.limit));
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(wanted), sorted.end(),
                      [&](size_t a, size_t b) {
                          int greater = spec.sort_direction * compare(a, b);
                          return greater != 0 ? greater < 0 : a < b;
                      });
    std::vector<ArrayElement> out;
    for (size_t i = 0; i < wanted; i++)
        out.push_back(std::move(elements[sorted[i]]));
    elements = std::move(out);
}

} // namespace sonde
