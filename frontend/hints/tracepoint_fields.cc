// A tracepoint of the kernel has two forms. Our `kernel.trace` provides the arguments of its function (TP_PROTO).
// bpftrace provides the fields of a record, which the kernel fills from these arguments (TP_fast_assign). The table
// repeats these assignments for the tracepoints that scripts use most. Source: include/trace/events/*.h in Linux.
//
// Without a row, the field's own name is used, which is right if the argument has the same name.
#include "frontend/hints/tracepoint_fields.h"

#include <algorithm>
#include <array>

namespace sonde::hints {

const TracepointField* find_field(std::string_view tracepoint, std::string_view field) {
    // A row applies to all tracepoints whose names begin with `tracepoint`; the first matching row counts. So a row of
    // one tracepoint (`sched_process_hang`) must come before the row of its family (`sched_process_`). A disk is a
    // number of 12 bits and one of 20 bits.
    static constexpr std::array fields = {
        TracepointField{"sched_migrate_task", "orig_cpu", "$p->thread_info->cpu", false},
        TracepointField{"sched_migrate_task", "prio", "$p->prio", false},
        TracepointField{"sched_wak", "target_cpu", "$p->thread_info->cpu", false},
        TracepointField{"sched_process_hang", "pid", "$tsk->pid", false},
        TracepointField{"sched_process_hang", "comm", "kernel_string($tsk->comm)", true},
        TracepointField{"sched_pi_setprio", "pid", "$tsk->pid", false},
        TracepointField{"sched_pi_setprio", "comm", "kernel_string($tsk->comm)", true},
        TracepointField{"net_dev_xmit", "len", "$skb_len", false},
        TracepointField{"net_dev_xmit", "name", "kernel_string($dev->name)", true},
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
        TracepointField{"block_rq_", "dev", "($rq->q->disk->major << 20 | $rq->q->disk->first_minor)", false},
        TracepointField{"block_rq_", "comm", "execname()", true},
        TracepointField{"block_bio_", "sector", "$bio->bi_iter->bi_sector", false},
        TracepointField{"block_bio_", "nr_sector", "$bio->bi_iter->bi_size >> 9", false},
        TracepointField{"block_bio_", "dev", "$bio->bi_bdev->bd_dev", false},
        TracepointField{"block_bio_", "comm", "execname()", true},
        TracepointField{"tcp_", "saddr", "$sk->__sk_common->skc_rcv_saddr", false},
        TracepointField{"tcp_", "daddr", "$sk->__sk_common->skc_daddr", false},
        TracepointField{"tcp_", "saddr_v6", "&$sk->__sk_common->skc_v6_rcv_saddr", false},
        TracepointField{"tcp_", "daddr_v6", "&$sk->__sk_common->skc_v6_daddr", false},
        TracepointField{"tcp_", "sport", "$sk->__sk_common->skc_num", false},
        TracepointField{"tcp_", "dport", "ntohs($sk->__sk_common->skc_dport)", false},
        TracepointField{"tcp_", "family", "$sk->__sk_common->skc_family", false},
        TracepointField{"tcp_", "skaddr", "$sk", false},
        TracepointField{"inet_sock_set_state", "saddr", "$sk->__sk_common->skc_rcv_saddr", false},
        TracepointField{"inet_sock_set_state", "daddr", "$sk->__sk_common->skc_daddr", false},
        TracepointField{"inet_sock_set_state", "saddr_v6", "&$sk->__sk_common->skc_v6_rcv_saddr", false},
        TracepointField{"inet_sock_set_state", "daddr_v6", "&$sk->__sk_common->skc_v6_daddr", false},
        TracepointField{"inet_sock_set_state", "sport", "$sk->__sk_common->skc_num", false},
        TracepointField{"inet_sock_set_state", "dport", "ntohs($sk->__sk_common->skc_dport)", false},
        TracepointField{"inet_sock_set_state", "family", "$sk->__sk_common->skc_family", false},
        TracepointField{"inet_sock_set_state", "skaddr", "$sk", false},
        TracepointField{"inet_sk_error_report", "saddr", "$sk->__sk_common->skc_rcv_saddr", false},
        TracepointField{"inet_sk_error_report", "daddr", "$sk->__sk_common->skc_daddr", false},
        TracepointField{"inet_sk_error_report", "saddr_v6", "&$sk->__sk_common->skc_v6_rcv_saddr", false},
        TracepointField{"inet_sk_error_report", "daddr_v6", "&$sk->__sk_common->skc_v6_daddr", false},
        TracepointField{"inet_sk_error_report", "sport", "$sk->__sk_common->skc_num", false},
        TracepointField{"inet_sk_error_report", "dport", "ntohs($sk->__sk_common->skc_dport)", false},
        TracepointField{"inet_sk_error_report", "family", "$sk->__sk_common->skc_family", false},
        TracepointField{"inet_sk_error_report", "skaddr", "$sk", false},
        TracepointField{"tcp_", "state", "$sk->__sk_common->skc_state", false},
        TracepointField{"tcp_", "skbaddr", "$skb", false},
        TracepointField{"inet_sock_set_state", "protocol", "$sk->sk_protocol", false},
        TracepointField{"hrtimer_", "function", "$hrtimer->function", false},
        TracepointField{"timer_", "function", "$timer->function", false},
        TracepointField{"writeback_start", "name", "kernel_string($wb->bdi->dev_name)", true},
        TracepointField{"writeback_start", "nr_pages", "$work->nr_pages", false},
        TracepointField{"writeback_start", "reason", "$work->reason", false},
        TracepointField{"writeback_written", "name", "kernel_string($wb->bdi->dev_name)", true},
        TracepointField{"writeback_written", "nr_pages", "$work->nr_pages", false},
        TracepointField{"writeback_written", "reason", "$work->reason", false},
        TracepointField{"mark_victim", "pid", "@choose_defined($pid, $task->pid)", false},
        TracepointField{"mark_victim", "comm", "kernel_string($task->comm)", true},
        TracepointField{"workqueue_execute_start", "function", "$work->func", false},
        TracepointField{"workqueue_queue_work", "function", "$work->func", false},
        TracepointField{"task_rename", "oldcomm", "kernel_string($task->comm)", true},
        TracepointField{"task_rename", "newcomm", "kernel_string($comm)", true},
        TracepointField{"task_rename", "pid", "$task->pid", false},
        TracepointField{"kfree_skb", "protocol", "ntohs($skb->protocol)", false},
        TracepointField{"kfree_skb", "skbaddr", "$skb", false},
        TracepointField{"consume_skb", "skbaddr", "$skb", false},
        TracepointField{"cpu_frequency", "state", "$frequency", false},
        TracepointField{"page_fault_", "ip", "$regs->ip", false},
        TracepointField{"napi_poll", "dev_name", "kernel_string($napi->dev->name)", true},
        TracepointField{"cgroup_", "path", "kernel_string($path)", true},
        TracepointField{"console", "msg", "kernel_string_n($text, $len)", true},
        TracepointField{"module_", "name", "kernel_string($mod->name)", true},
    };
    const auto* found = std::ranges::find_if(fields, [&](const TracepointField& one) {
        return one.field == field && tracepoint.starts_with(one.tracepoint);
    });
    return found == fields.end() ? nullptr : found;
}

} // namespace sonde::hints
