// The target that turns handlers into BPF programs for libbpf.
//
// The order of the members matters: each part has references to those before it.
#include "codegen/bpf/parts.h"

namespace sonde {
namespace {

class BpfTarget final : public Target {
  public:
    explicit BpfTarget(Emitter& emitter)
        : bpf_(emitter), maps_(bpf_), one_hit_(bpf_), accounting_(bpf_, one_hit_), claims_(bpf_, accounting_),
          output_(bpf_, maps_, accounting_), arrays_(bpf_), memory_(bpf_), task_(bpf_), registers_(bpf_),
          entry_values_(bpf_, memory_, registers_, accounting_),
          programs_({bpf_, maps_, accounting_, claims_, task_, registers_, entry_values_, one_hit_}) {}
    HandlerPrograms& programs() override { return programs_; }
    RecordOutput& output() override { return output_; }
    Arrays& arrays() override { return arrays_; }
    Memory& memory() override { return memory_; }
    Task& task() override { return task_; }
    Registers& registers() override { return registers_; }
    EntryValues& entry_values() override { return entry_values_; }

  private:
    BpfContext bpf_;
    Maps maps_;
    OneHit one_hit_;
    BpfAccounting accounting_;
    Claims claims_;
    BpfOutput output_;
    BpfArrays arrays_;
    BpfMemory memory_;
    BpfTask task_;
    BpfRegisters registers_;
    BpfEntryValues entry_values_;
    BpfPrograms programs_;
};

} // namespace

std::unique_ptr<Target> make_bpf_target(Emitter& emitter) { return std::make_unique<BpfTarget>(emitter); }

} // namespace sonde
