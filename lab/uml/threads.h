/*
 * What arch/um/kernel/process.c lets a new thread do first, if its process has others. The kernel's own fork_handler also
 * walks through all of the memory and makes the host unmap what is not there, as it must for a new process.
 */
static void thread_handler(void)
{
	schedule_tail(current->thread.prev_sched);
	arch_switch_to(current);
	current->thread.prev_sched = NULL;
	userspace(&current->thread.regs.regs, current_thread_info()->aux_fp_regs);
}
