package org.rdmapanama.samples;

import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.Context;

/** A device through which clients come, with the completion queue that all of them share. */
record ServedDevice(Context context, CompletionChannel channel, CompletionQueue queue) {
    /** Creates the queue, for so many clients. */
    static ServedDevice of(Context context, int clients) {
        int entries = Math.min(
                clients * (ServedTransfer.RECEIVES + ServedTransfer.SENDS),
                context.queryDevice().maxCompletionQueueEntries());
        CompletionChannel channel = context.createCompletionChannel();
        return new ServedDevice(context, channel, context.createCompletionQueue(entries, channel, 0));
    }
}
