package org.rdmapanama.samples.perf;

import org.rdmapanama.samples.ByteSize;

/** Texts for people. */
final class PerfText {
    private PerfText() {}

    /** Returns one line that says what is measured. */
    static String title(TestSettings settings) {
        StringBuilder text = new StringBuilder(settings.kind().label())
                .append(' ')
                .append(settings.connection())
                .append(settings.all() ? ", 2 B to " : ", ")
                .append(ByteSize.format(settings.size()));
        if (settings.seconds() > 0) {
            text.append(", ").append(settings.seconds()).append(" s");
        } else {
            text.append(", ").append(settings.iterations()).append(" iterations");
        }
        if (settings.kind().operation == Operation.ATOMIC) {
            text.append(", ").append(settings.atomic());
        }
        if (!settings.kind().latency) {
            text.append(", ")
                    .append(settings.queuePairs())
                    .append(settings.queuePairs() == 1 ? " queue pair" : " queue pairs")
                    .append(", depth ")
                    .append(settings.txDepth())
                    .append(", one completion for ")
                    .append(settings.moderation());
        }
        if (settings.postList() > 1) {
            text.append(", lists of ").append(settings.postList());
        }
        if (settings.inline() > 0) {
            text.append(", inline to ").append(settings.inline()).append(" B");
        }
        if (settings.bidirectional()) {
            text.append(", both directions");
        }
        if (settings.events()) {
            text.append(", events");
        }
        if (settings.rate() > 0) {
            text.append(", ").append(settings.rate()).append(" per second");
        }
        return text.toString();
    }

    /** Returns the reason of a failure, in one line. */
    static String reason(Throwable failure) {
        return failure.getMessage() == null ? failure.toString() : failure.getMessage();
    }
}
