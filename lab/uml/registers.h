/*
 * Floating-point registers of programs, for arch/um/os-Linux/skas/process.c. The kernel gets and sets the registers of a
 * program at each of its system calls and page faults; those for floating point are ten kilobytes, and neither the kernel
 * nor the program's process there changes them. So they stay in that process until another thread needs it, or until the
 * kernel reads them.
 */

/* The memory of the program that runs next. */
static struct mm_id *userspace_mm;

/* Brings regs->fp up to date. */
int save_fp(struct uml_pt_regs *regs)
{
	int process = regs->fp_process;

	regs->fp_process = 0;
	return process ? get_fp_registers(process, regs->fp) : 0;
}

/* Sets the registers of a process before it runs as the thread that these are of, unless it has them. */
static int load_fp(int process, struct uml_pt_regs *regs)
{
	static unsigned long loads;

	if (regs->fp_load && regs->fp_load == userspace_mm->fp_load)
		return 0;
	regs->fp_load = userspace_mm->fp_load = ++loads;
	return put_fp_registers(process, regs->fp);
}
