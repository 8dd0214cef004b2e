#include "frontend/bridge/tracepoint_fields.h"

#include <algorithm>
#include <array>

namespace sonde::bridge {

const TracepointField* find_field(std::string_view tracepoint, std::string_view field) {
    // A tracepoint stands for all whose names begin so; the first row counts.
    static constexpr std::array fields = {
        TracepointField{"sched_switch", "prev_comm", "kernel_string($prev->comm)", true},
        TracepointField{"sched_switch", "prev_pid", "$prev->pid", false},
        TracepointField{"sched_switch", "prev_prio", "$prev->prio", false},
        TracepointField{"sched_switch", "next_comm", "kernel_string($next->comm)", true},
        TracepointField{"sched_switch", "next_pid", "$next->pid", false},
        TracepointField{"sched_switch", "next_prio", "$next->prio", false},
        TracepointField{"sched_wak", "comm", "kernel_string($p->comm)", true},
        TracepointField{"sched_wak", "pid", "$p->pid", false},
        TracepointField{"sched_wak", "prio", "$p->prio", false},
        TracepointField{"sched_migrate_task", "comm", "kernel_string($p->comm)", true},
        TracepointField{"sched_migrate_task", "pid", "$p->pid", false},
        TracepointField{"sched_process_exec", "filename", "kernel_string($bprm->filename)", true},
        TracepointField{"sched_process_exec", "pid", "$p->pid", false},
        TracepointField{"sched_process_fork", "parent_comm", "kernel_string($parent->comm)", true},
        TracepointField{"sched_process_fork", "parent_pid", "$parent->pid", false},
        TracepointField{"sched_process_fork", "child_comm", "kernel_string($child->comm)", true},
        TracepointField{"sched_process_fork", "child_pid", "$child->pid", false},
        TracepointField{"sched_process_", "comm", "kernel_string($p->comm)", true},
        TracepointField{"sched_process_", "pid", "$p->pid", false},
        TracepointField{"sched_process_", "prio", "$p->prio", false},
        TracepointField{"sched_stat_", "comm", "kernel_string($tsk->comm)", true},
        TracepointField{"sched_stat_", "pid", "$tsk->pid", false},
        TracepointField{"block_rq_complete", "nr_sector", "$nr_bytes >> 9", false},
        TracepointField{"block_rq_", "bytes", "$rq->__data_len", false},
        TracepointField{"block_rq_", "sector", "$rq->__sector", false},
        TracepointField{"block_rq_", "nr_sector", "$rq->__data_len >> 9", false},
        TracepointField{"signal_generate", "comm", "kernel_string($task->comm)", true},
        TracepointField{"signal_generate", "pid", "$task->pid", false},
        TracepointField{"irq_handler_entry", "name", "kernel_string($action->name)", true},
        TracepointField{"softirq_", "vec", "$vec_nr", false},
        TracepointField{"net", "skbaddr", "$skb", false},
        TracepointField{"net", "len", "$skb->len", false},
        TracepointField{"net", "name", "kernel_string($skb->dev->name)", true},
        TracepointField{"oom_score_adj_update", "pid", "$task->pid", false},
        TracepointField{"task_newtask", "pid", "$task->pid", false},
        TracepointField{"task_newtask", "comm", "kernel_string($task->comm)", true},
    };
    const auto* found = std::ranges::find_if(fields, [&](const TracepointField& one) {
        return one.field == field && tracepoint.starts_with(one.tracepoint);
    });
    return found == fields.end() ? nullptr : found;
}

} // namespace sonde::bridge
