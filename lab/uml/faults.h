/*
 * Page faults of programs, for arch/um/kernel/trap.c. One costs some 0.06 ms there: the kernel stops the program's
 * process, makes it call a handler of its own that tells why, and makes it call the host, which maps a page. A JVM that
 * runs tests causes 18,400 when it starts, and one of a program that they start 9,400. So a fault also maps the pages
 * around the one that caused it, and most handlers are not called.
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

/* True if the program could write to the page already, so that something else about it was wrong. */
static bool is_writable(struct mm_struct *mm, unsigned long address)
{
	pte_t *pte = virt_to_pte(mm, address);

	return pte && pte_write(*pte) && pte_dirty(*pte) && pte_young(*pte) && !pte_newpage(*pte) && !pte_newprot(*pte);
}

/*
 * Handles a fault of which only the address and the host's si_code are known, and returns whether it could: not whether
 * the program read or wrote, which its handler would tell. Where memory may be written and nothing else can be the reason,
 * it counts as a write: at worst a page is copied, or becomes dirty, a little earlier.
 */
int handle_fault_without_handler(unsigned long address, int code)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int known = 0, write = 0, ignored;

	if (!mm || !mmap_read_trylock(mm))
		return 0;
	vma = vma_lookup(mm, address);
	if (vma) {
		write = (vma->vm_flags & VM_WRITE) != 0;
		if (code == SEGV_MAPERR)
			known = !write || vma_is_anonymous(vma);
		else if (code == SEGV_ACCERR)
			known = write && !is_writable(mm, address);
	}
	mmap_read_unlock(mm);
	return known && !handle_page_fault(address, 0, write, 1, &ignored);
}
