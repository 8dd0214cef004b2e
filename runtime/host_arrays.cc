// Both kinds of arrays, and the order of foreach.
#include "runtime/host_arrays.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "runtime/histogram.h"

namespace sonde {
namespace {

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
    std::vector<ArrayElement> snapshot() override {
        std::vector<ArrayElement> out;
        for (const auto& [number, element] : elements_)
            out.push_back(element);
        return out;
    }

  private:
    const plan::Global& global_;
    std::unordered_map<std::string, uint64_t> index_;
    std::map<uint64_t, ArrayElement> elements_; // by insertion
    uint64_t next_ = 0;
};

class KernelArray final : public HostArray {
  public:
    KernelArray(const plan::Global& global, int fd, plan::SessionWords* words)
        : global_(global), fd_(fd), words_(words) {}

    bool load(const std::string& key, std::string& payload) override {
        std::string value(global_.value_size, '\0');
        if (bpf_map_lookup_elem(fd_, key.data(), value.data()) != 0)
            return false;
        payload = value.substr(8);
        return true;
    }
    HostStatus store(const std::string& key, const std::string& payload) override {
        std::string value(global_.value_size, '\0');
        bool there = bpf_map_lookup_elem(fd_, key.data(), value.data()) == 0;
        if (!there) {
            uint64_t number = __atomic_fetch_add(&words_->insertion, 1, __ATOMIC_RELAXED) + 1;
            std::memcpy(value.data(), &number, 8);
        }
        std::memcpy(value.data() + 8, payload.data(), std::min(payload.size(), value.size() - 8));
        int failed = bpf_map_update_elem(fd_, key.data(), value.data(), BPF_ANY);
        if (failed && global_.wrap) {
            std::vector<ArrayElement> all = snapshot();
            if (!all.empty()) {
                erase(all.front().key);
                failed = bpf_map_update_elem(fd_, key.data(), value.data(), BPF_ANY);
            }
        }
        return failed ? HostArrayFull : HostOk;
    }
    void erase(const std::string& key) override { bpf_map_delete_elem(fd_, key.data()); }
    std::vector<ArrayElement> snapshot() override {
        std::vector<ArrayElement> out;
        std::string key(global_.key_size, '\0'), next(global_.key_size, '\0'), value(global_.value_size, '\0');
        const void* at = nullptr;
        // An element that is deleted meanwhile makes the walk begin anew: bounded by what the map can hold.
        for (uint64_t steps = 0; steps < 2 * global_.capacity + 16 && bpf_map_get_next_key(fd_, at, next.data()) == 0;
             steps++) {
            key = next;
            at = key.data();
            if (bpf_map_lookup_elem(fd_, key.data(), value.data()) != 0)
                continue;
            ArrayElement element;
            std::memcpy(&element.insertion, value.data(), 8);
            element.key = key;
            element.payload = value.substr(8);
            out.push_back(std::move(element));
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const ArrayElement& a, const ArrayElement& b) { return a.insertion < b.insertion; });
        // A walk that began anew met some elements twice.
        out.erase(std::unique(out.begin(), out.end(),
                              [](const ArrayElement& a, const ArrayElement& b) {
                                  return a.insertion == b.insertion && a.key == b.key;
                              }),
                  out.end());
        return out;
    }

  private:
    const plan::Global& global_;
    int fd_;
    plan::SessionWords* words_;
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

int64_t stat_value(const ArrayElement& element, int32_t what) {
    plan::StatsBlock block{};
    std::memcpy(&block, element.payload.data(), std::min(sizeof block, element.payload.size()));
    StatsView view{&block, nullptr};
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
    default:
        return view.variance();
    }
}

} // namespace

std::unique_ptr<HostArray> make_host_array(const plan::Global& global) { return std::make_unique<MemoryArray>(global); }
std::unique_ptr<HostArray> make_kernel_array(const plan::Global& global, int map_fd, plan::SessionWords* words) {
    return std::make_unique<KernelArray>(global, map_fd, words);
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

void sort_elements(const plan::Global& global, uint32_t max_string, const HostForeach& spec,
                   std::vector<ArrayElement>& elements) {
    if (spec.sort_direction == 0)
        return;
    auto compare = [&](const ArrayElement& a, const ArrayElement& b) {
        if (spec.sort_column > 0) {
            const plan::KeyPart& part = global.keys[static_cast<size_t>(spec.sort_column - 1)];
            return part.type == plan::Value::String
                       ? compare_strings(a.key, b.key, part.offset, part.size)
                       : order(number_at(a.key, part.offset), number_at(b.key, part.offset));
        }
        if (global.type == plan::Value::String)
            return compare_strings(a.payload, b.payload, 0, max_string);
        if (global.type == plan::Value::Stats)
            return order(stat_value(a, spec.sort_stat), stat_value(b, spec.sort_stat));
        return order(number_at(a.payload, 0), number_at(b.payload, 0));
    };
    std::stable_sort(elements.begin(), elements.end(), [&](const ArrayElement& a, const ArrayElement& b) {
        return spec.sort_direction > 0 ? compare(a, b) < 0 : compare(b, a) < 0;
    });
}

} // namespace sonde
