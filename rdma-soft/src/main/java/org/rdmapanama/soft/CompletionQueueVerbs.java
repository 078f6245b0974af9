package org.rdmapanama.soft;

import java.lang.foreign.MemorySegment;
import org.rdmapanama.ffm.Pthread;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.internal.ReadySource;
import org.rdmapanama.ffm.verbs.ibv_comp_channel;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_cq_ex;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * The verbs of completion channels and completion queues, except polling. {@link SoftContext} forwards the calls of the
 * program, on any thread; each method takes the lock of the device itself where it needs it.
 */
final class CompletionQueueVerbs {
    private static final long CHANNEL_HANDLE = ibv_comp_channel.refcnt$offset();

    private final SoftContext context;
    private final SoftDevice device;

    CompletionQueueVerbs(SoftContext context) {
        this.context = context;
        device = context.device();
    }

    long createCompletionChannel() {
        device.lock();
        try {
            SoftCompletionChannel made = device.channels.make(
                    ibv_comp_channel.sizeof(), (struct, number) -> new SoftCompletionChannel(struct, number, device));
            NativeBlock block = made.struct;
            MemorySegment channel = Native.struct(block.address(), ibv_comp_channel.layout());
            ibv_comp_channel.context(channel, MemorySegment.ofAddress(context.address()));
            ibv_comp_channel.fd(channel, -1);
            // libibverbs counts its queues in this field; no other code reads it.
            Memory.putInt(block.address() + CHANNEL_HANDLE, made.number);
            return block.address();
        } finally {
            device.unlock();
        }
    }

    private SoftCompletionChannel channel(long address) {
        return device.channels.get(Memory.getInt(address + CHANNEL_HANDLE));
    }

    int destroyCompletionChannel(long address) {
        device.lock();
        try {
            SoftCompletionChannel channel = channel(address);
            if (channel.users > 0) {
                return -Errno.EBUSY;
            }
            device.channels.remove(channel.number);
            channel.struct.free();
            return 0;
        } finally {
            device.unlock();
        }
    }

    ReadySource completionEvents(long address) {
        return channel(address).source();
    }

    long getCompletionEvent(long address) {
        SoftCompletionChannel channel = channel(address);
        long queue = channel.take();
        if (queue == 0) {
            device.engine.progressForWaiter();
            queue = channel.take();
        }
        return queue;
    }

    void ackCompletionEvent(long address, long completionQueue) {
        channel(address).taken().acknowledge(completionQueue);
    }

    long createCompletionQueue(int entries, long cqContext, long channel, int completionVector) {
        return createQueue(ibv_cq.sizeof(), entries, cqContext, channel, completionVector, 0);
    }

    long createExtendedCompletionQueue(long attributes) {
        MemorySegment init = Native.struct(attributes, ibv_cq_init_attr_ex.layout());
        if ((ibv_cq_init_attr_ex.wc_flags(init) & ~SoftCompletionVerbs.FIELDS) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        return createQueue(
                ibv_cq_ex.sizeof() + Pthread.MUTEX_GROWTH,
                ibv_cq_init_attr_ex.cqe(init),
                ibv_cq_init_attr_ex.cq_context(init).address(),
                ibv_cq_init_attr_ex.channel(init).address(),
                ibv_cq_init_attr_ex.comp_vector(init),
                (int) ibv_cq_init_attr_ex.wc_flags(init));
    }

    private long createQueue(long bytes, int entries, long cqContext, long channel, int completionVector, int fields) {
        if (entries < 1 || entries > DeviceTables.MAX_COMPLETIONS || completionVector != 0) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            SoftCompletionChannel tells = channel == 0 ? null : channel(channel);
            SoftCompletionQueue queue = device.completionQueues.make(
                    bytes,
                    (struct, number) -> new SoftCompletionQueue(context, struct, number, tells, entries, fields));
            NativeBlock block = queue.struct;
            if (tells != null) {
                tells.users++;
            }
            MemorySegment cq = Native.struct(block.address(), ibv_cq.layout());
            ibv_cq.context(cq, MemorySegment.ofAddress(context.address()));
            ibv_cq.channel(cq, MemorySegment.ofAddress(channel));
            ibv_cq.cq_context(cq, MemorySegment.ofAddress(cqContext));
            ibv_cq.handle(cq, queue.number);
            ibv_cq.cqe(cq, queue.capacity());
            return block.address();
        } finally {
            device.unlock();
        }
    }

    int destroyCompletionQueue(long completionQueue) {
        SoftCompletionQueue queue;
        device.lock();
        try {
            queue = context.queue(completionQueue);
            if (queue.users > 0) {
                return -Errno.EBUSY;
            }
            device.completionQueues.remove(queue.number);
            if (queue.channel != null) {
                queue.channel.users--;
                queue.channel.forget(completionQueue);
            }
            context.events().forget(completionQueue);
            queue.free();
        } finally {
            device.unlock();
        }
        if (queue.channel != null) {
            queue.channel.taken().await(completionQueue);
        }
        context.events().taken().await(completionQueue);
        queue.struct.free();
        return 0;
    }

    int resizeCompletionQueue(long completionQueue, int entries) {
        if (entries < 1 || entries > DeviceTables.MAX_COMPLETIONS) {
            return -Errno.EINVAL;
        }
        device.lock();
        try {
            SoftCompletionQueue queue = context.queue(completionQueue);
            if (!queue.resize(entries)) {
                return -Errno.EINVAL;
            }
            ibv_cq.cqe(Native.struct(completionQueue, ibv_cq.layout()), queue.capacity());
            return 0;
        } finally {
            device.unlock();
        }
    }

    int requestNotification(long completionQueue, boolean solicitedOnly) {
        device.lock();
        try {
            context.queue(completionQueue).arm(solicitedOnly);
            return 0;
        } finally {
            device.unlock();
        }
    }
}
