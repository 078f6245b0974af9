/*
 * Part of the lab's kernel as a process (bin/lib/uml.sh includes it in arch/um/kernel/trap.c). A page fault of a program
 * costs some 0.06 ms there: the kernel stops the program's process, and makes it call the host. A JVM that runs
 * tests causes 18,400 when it starts, and a program that they start 9,400. So a fault also maps the pages around the one
 * that caused it.
 */

/* The kernel itself maps so many bytes of a file around a page that is read. */
#define AROUND 0x10000UL

/*
 * Lets the program access a page that is there now, and those around it: pages of a file that the kernel has mapped with
 * it, which would cause a fault each nevertheless; and, when the program writes to private memory, pages to write to.
 */
static void map_around(struct vm_area_struct *vma, unsigned long address, unsigned int flags)
{
	unsigned long first = max(vma->vm_start, address & -AROUND);
	unsigned long end = min(vma->vm_end, (address | (AROUND - 1)) + 1);
	unsigned long page;

	if ((flags & FAULT_FLAG_WRITE) && !(vma->vm_flags & VM_SHARED)) {
		for (page = first; page < end; page += PAGE_SIZE) {
			if (!pte_write(*pte_offset_kernel(pmd_off(vma->vm_mm, page), page)) &&
			    handle_mm_fault(vma, page, FAULT_FLAG_WRITE | FAULT_FLAG_USER, NULL))
				break;
		}
	}
	flush_tlb_range(vma, first, end);
}
