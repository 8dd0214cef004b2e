// Arena: owns nodes that live as long as the translation. Objects are created, but never freed one by one. Their
// destructors run when the arena is destroyed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace sonde {

// Nodes of a tree often refer to each other in both directions. With one owner for all nodes, plain pointers are
// enough.
class Arena {
  public:
    template <typename T, typename... Args> T* make(Args&&... args) {
        auto holder = std::make_unique<Holder<T>>(std::forward<Args>(args)...);
        T* object = &holder->object;
        holders_.push_back(std::move(holder));
        return object;
    }

  private:
    struct HolderBase {
        virtual ~HolderBase() = default;
    };
    template <typename T> struct Holder final : HolderBase {
        template <typename... Args> explicit Holder(Args&&... args) : object{std::forward<Args>(args)...} {}
        T object;
    };
    std::vector<std::unique_ptr<HolderBase>> holders_;
};

} // namespace sonde
