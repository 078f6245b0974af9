package org.rdmapanama.internal.libibverbs;

import java.util.function.LongConsumer;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.SendVerbs;

/** Tells when batches on extended queues begin and end. */
public final class WatchedVerbs {
    private WatchedVerbs() {}

    /** For sends and RDMA writes: other work requests are left to the driver as if it had no faults. */
    public static SendVerbs sends(SendVerbs real, LongConsumer begin, LongConsumer finish) {
        return new NativeSendVerbs() {
            @Override
            public void wrStart(long queuePair) {
                begin.accept(queuePair);
                real.wrStart(queuePair);
            }

            @Override
            public int wrComplete(long queuePair) {
                int result = real.wrComplete(queuePair);
                finish.accept(queuePair);
                return result;
            }

            @Override
            public void wrAbort(long queuePair) {
                real.wrAbort(queuePair);
                finish.accept(queuePair);
            }

            @Override
            public void wrSend(long queuePair) {
                real.wrSend(queuePair);
            }

            @Override
            public void wrRdmaWrite(long queuePair, int rkey, long remoteAddress) {
                real.wrRdmaWrite(queuePair, rkey, remoteAddress);
            }

            @Override
            public void wrSetUdAddr(long queuePair, long addressHandle, int queuePairNumber, int qkey) {
                real.wrSetUdAddr(queuePair, addressHandle, queuePairNumber, qkey);
            }

            @Override
            public void wrSetSge(long queuePair, int lkey, long address, int length) {
                real.wrSetSge(queuePair, lkey, address, length);
            }
        };
    }

    public static CompletionVerbs completions(CompletionVerbs real, LongConsumer begin, LongConsumer finish) {
        return new NativeCompletionVerbs() {
            @Override
            public int startPoll(long completionQueue, long attributes) {
                begin.accept(completionQueue);
                return started(completionQueue, real.startPoll(completionQueue, attributes));
            }

            @Override
            public int nextPoll(long completionQueue) {
                return started(completionQueue, real.nextPoll(completionQueue));
            }

            private int started(long completionQueue, int result) {
                if (result != 0) {
                    finish.accept(completionQueue);
                }
                return result;
            }

            @Override
            public void endPoll(long completionQueue) {
                real.endPoll(completionQueue);
                finish.accept(completionQueue);
            }

            @Override
            public int readVendorErr(long completionQueue) {
                return real.readVendorErr(completionQueue);
            }

            @Override
            public int readQpNum(long completionQueue) {
                return real.readQpNum(completionQueue);
            }
        };
    }
}
