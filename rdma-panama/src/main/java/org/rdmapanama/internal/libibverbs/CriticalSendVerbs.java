package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.Native;

/**
 * The work request builder of drivers that only access memory in these functions: the functions that fast programs call
 * most are critical calls. They are ordinary calls where a critical call might wait; see {@link
 * NativeContext#postsCritically}.
 */
final class CriticalSendVerbs extends NativeSendVerbs {
    private static final MethodHandle OF_QUEUE_PAIR = critical(FunctionDescriptor.ofVoid(JAVA_LONG));
    private static final MethodHandle COMPLETE = critical(FunctionDescriptor.of(JAVA_INT, JAVA_LONG));
    private static final MethodHandle WITH_NUMBER = critical(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT));
    private static final MethodHandle REMOTE = critical(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG));
    private static final MethodHandle REMOTE_WITH_NUMBER =
            critical(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle TO =
            critical(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT));
    private static final MethodHandle SEGMENT =
            critical(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT));
    private static final MethodHandle TWO_NUMBERS =
            critical(FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG));

    private final NativeContext context;

    CriticalSendVerbs(NativeContext context) {
        this.context = context;
    }

    private static MethodHandle critical(FunctionDescriptor type) {
        return Native.pointer(type, Linker.Option.critical(false));
    }

    private static void call(FunctionPointer pointer, long queuePair) {
        MemorySegment function = function(pointer, queuePair);
        try {
            OF_QUEUE_PAIR.invokeExact(function, queuePair);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrStart(long queuePair) {
        if (!context.postsCritically()) {
            super.wrStart(queuePair);
            return;
        }
        call(WR_START_AT, queuePair);
    }

    @Override
    public int wrComplete(long queuePair) {
        if (!context.postsCritically()) {
            return super.wrComplete(queuePair);
        }
        MemorySegment function = function(WR_COMPLETE_AT, queuePair);
        try {
            return Errno.status((int) COMPLETE.invokeExact(function, queuePair));
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSend(long queuePair) {
        if (!context.postsCritically()) {
            super.wrSend(queuePair);
            return;
        }
        call(WR_SEND_AT, queuePair);
    }

    @Override
    public void wrSendImm(long queuePair, int immediate) {
        if (!context.postsCritically()) {
            super.wrSendImm(queuePair, immediate);
            return;
        }
        MemorySegment function = function(WR_SEND_IMM_AT, queuePair);
        try {
            WITH_NUMBER.invokeExact(function, queuePair, immediate);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaRead(long queuePair, int rkey, long remoteAddress) {
        if (!context.postsCritically()) {
            super.wrRdmaRead(queuePair, rkey, remoteAddress);
            return;
        }
        remote(WR_RDMA_READ_AT, queuePair, rkey, remoteAddress);
    }

    @Override
    public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
        if (!context.postsCritically()) {
            super.wrRdmaWrite(queuePair, rkey, remoteAddress);
            return;
        }
        remote(WR_RDMA_WRITE_AT, queuePair, rkey, remoteAddress);
    }

    private static void remote(FunctionPointer pointer, long queuePair, int rkey, long remoteAddress) {
        MemorySegment function = function(pointer, queuePair);
        try {
            REMOTE.invokeExact(function, queuePair, rkey, remoteAddress);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrRdmaWriteImm(long queuePair, int rkey, long remoteAddress, int immediate) {
        if (!context.postsCritically()) {
            super.wrRdmaWriteImm(queuePair, rkey, remoteAddress, immediate);
            return;
        }
        MemorySegment function = function(WR_RDMA_WRITE_IMM_AT, queuePair);
        try {
            REMOTE_WITH_NUMBER.invokeExact(function, queuePair, rkey, remoteAddress, immediate);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey) {
        if (!context.postsCritically()) {
            super.wrSetUdAddr(queuePair, addressHandle, queuePairNumber, qkey);
            return;
        }
        MemorySegment function = function(WR_SET_UD_ADDR_AT, queuePair);
        try {
            TO.invokeExact(function, queuePair, addressHandle, queuePairNumber, qkey);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetInlineData(long queuePair, long address, long length) {
        if (!context.postsCritically()) {
            super.wrSetInlineData(queuePair, address, length);
            return;
        }
        twoNumbers(WR_SET_INLINE_DATA_AT, queuePair, address, length);
    }

    @Override
    public void wrSetSge(long queuePair, int lkey, long address, int length) {
        if (!context.postsCritically()) {
            super.wrSetSge(queuePair, lkey, address, length);
            return;
        }
        MemorySegment function = function(WR_SET_SGE_AT, queuePair);
        try {
            SEGMENT.invokeExact(function, queuePair, lkey, address, length);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }

    @Override
    public void wrSetSgeList(long queuePair, long count, long list) {
        if (!context.postsCritically()) {
            super.wrSetSgeList(queuePair, count, list);
            return;
        }
        twoNumbers(WR_SET_SGE_LIST_AT, queuePair, count, list);
    }

    private static void twoNumbers(FunctionPointer pointer, long queuePair, long first, long second) {
        MemorySegment function = function(pointer, queuePair);
        try {
            TWO_NUMBERS.invokeExact(function, queuePair, first, second);
        } catch (Throwable e) {
            throw Errno.rethrow(e);
        }
    }
}
