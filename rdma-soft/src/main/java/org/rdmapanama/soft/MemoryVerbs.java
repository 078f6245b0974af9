package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_mr;
import org.rdmapanama.ffm.verbs.ibv_mw;
import org.rdmapanama.ffm.verbs.ibv_mw_bind;
import org.rdmapanama.ffm.verbs.ibv_pd;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * The verbs of protection domains, memory regions and memory windows. {@link SoftContext} forwards the calls of the
 * program, on any thread; each method takes the lock of the device itself.
 */
final class MemoryVerbs {
    private static final long PD_HANDLE = ibv_pd.handle$offset();

    private static final int ALL_ACCESS = VerbsConstants.LOCAL_WRITE
            | VerbsConstants.REMOTE_WRITE
            | VerbsConstants.REMOTE_READ
            | VerbsConstants.REMOTE_ATOMIC
            | VerbsConstants.MW_BIND
            | VerbsConstants.ZERO_BASED
            | rdma_h.IBV_ACCESS_RELAXED_ORDERING()
            | rdma_h.IBV_ACCESS_HUGETLB();

    private final SoftContext context;
    private final SoftDevice device;

    MemoryVerbs(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    long allocateProtectionDomain() {
        device.lock();
        try {
            SoftProtectionDomain domain = device.protectionDomains.make(ibv_pd.sizeof(), SoftProtectionDomain::new);
            NativeBlock block = domain.struct;
            ibv_pd.context(Native.struct(block.address(), ibv_pd.layout()), MemorySegment.ofAddress(context.address()));
            Memory.putInt(block.address() + PD_HANDLE, domain.number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    int deallocateProtectionDomain(long protectionDomain) {
        device.lock();
        try {
            SoftProtectionDomain domain = domain(protectionDomain);
            if (domain.users > 0) {
                return -Errno.EBUSY;
            }
            device.protectionDomains.remove(domain.number);
            domain.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    SoftProtectionDomain domain(long address) {
        return device.protectionDomains.get(Memory.getInt(address + PD_HANDLE));
    }

    long registerMemory(long protectionDomain, long address, long length, long iova, int access) {
        boolean writes = (access & (VerbsConstants.REMOTE_WRITE | VerbsConstants.REMOTE_ATOMIC)) != 0;
        if ((access & ~ALL_ACCESS) != 0 || (writes && (access & VerbsConstants.LOCAL_WRITE) == 0)) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            KeyedMemory memory = add(protectionDomain, ibv_mr.sizeof(), false, 0);
            if (memory == null) {
                return -Errno.ENOMEM;
            }
            memory.valid = true;
            fill(memory, address, length, iova, access);
            int key = memory.key;
            MemorySegment region = Native.struct(memory.struct.address(), ibv_mr.layout());
            ibv_mr.context(region, MemorySegment.ofAddress(context.address()));
            ibv_mr.pd(region, MemorySegment.ofAddress(protectionDomain));
            ibv_mr.addr(region, MemorySegment.ofAddress(address));
            ibv_mr.length(region, length);
            ibv_mr.handle(region, key);
            ibv_mr.lkey(region, key);
            ibv_mr.rkey(region, memory.allowsRemote() ? key : 0);
            return memory.struct.address();
        } finally {
            device.unlock();
        }
    }

    /** Adds a region or a window with a C structure of the given size. Returns null if all keys are in use. */
    private KeyedMemory add(long protectionDomain, long structBytes, boolean window, int windowType) {
        SoftProtectionDomain domain = domain(protectionDomain);
        KeyedMemory memory = device.keys.make(structBytes, (struct, key) -> {
            KeyedMemory made = new KeyedMemory(domain.number, struct, window, windowType);
            made.key = key;
            return made;
        });
        if (memory != null) {
            domain.users++;
        }
        return memory;
    }

    private static void fill(KeyedMemory memory, long address, long length, long iova, int access) {
        boolean fromZero = (access & VerbsConstants.ZERO_BASED) != 0;
        memory.start = fromZero ? 0 : iova;
        memory.length = length;
        memory.shift = address - memory.start;
        memory.access = access;
    }

    int deregisterMemory(long memoryRegion) {
        device.lock();
        try {
            KeyedMemory memory = device.keys.get(SoftContext.lkeyOf(memoryRegion));
            if (memory.windows > 0) {
                return -Errno.EBUSY;
            }
            device.keys.remove(memory.key);
            device.protectionDomains.get(memory.protectionDomain).users--;
            memory.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    long allocateMemoryWindow(long protectionDomain, int type) {
        if (type != VerbsConstants.MW_TYPE_1 && type != VerbsConstants.MW_TYPE_2) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            KeyedMemory memory = add(protectionDomain, ibv_mw.sizeof(), true, type);
            if (memory == null) {
                return -Errno.ENOMEM;
            }
            int key = memory.key;
            MemorySegment window = Native.struct(memory.struct.address(), ibv_mw.layout());
            ibv_mw.context(window, MemorySegment.ofAddress(context.address()));
            ibv_mw.pd(window, MemorySegment.ofAddress(protectionDomain));
            ibv_mw.rkey(window, key);
            ibv_mw.handle(window, key);
            ibv_mw.type(window, type);
            return memory.struct.address();
        } finally {
            device.unlock();
        }
    }

    int deallocateMemoryWindow(long memoryWindow) {
        device.lock();
        try {
            KeyedMemory memory = device.windows.of(memoryWindow);
            device.windows.unbind(memory);
            device.keys.remove(memory.key);
            device.protectionDomains.get(memory.protectionDomain).users--;
            memory.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    int bindMemoryWindow(long queuePair, long memoryWindow, long bind) {
        device.lock();
        try {
            SoftQueuePair pair = context.queuePair(queuePair);
            KeyedMemory window = device.windows.of(memoryWindow);
            if (window.windowType != VerbsConstants.MW_TYPE_1) {
                return -Errno.EINVAL;
            }
            int result = pair.postBind(
                    window,
                    bind + ibv_mw_bind.bind_info$offset(),
                    Memory.getLong(bind + ibv_mw_bind.wr_id$offset()),
                    Memory.getInt(bind + ibv_mw_bind.send_flags$offset()));
            return -result;
        } finally {
            device.unlock();
        }
    }
}
