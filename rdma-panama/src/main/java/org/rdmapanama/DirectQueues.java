package org.rdmapanama;

import java.util.ServiceConfigurationError;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.provider.DirectCompletionQueue;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.DirectQueuePair;
import org.rdmapanama.internal.provider.DirectSharedReceiveQueue;
import org.rdmapanama.queue.QueuePairCapabilities;

/** Which queues Java writes and reads itself, and what such queues cannot do; see {@link CompletionQueueOptions#direct}. */
final class DirectQueues {
    /** Whether programs get direct queues without asking for them. */
    private static final boolean BY_DEFAULT = Boolean.getBoolean("org.rdmapanama.direct");

    private static final String NOT_DIRECT = "; create its completion queues without CompletionQueueOptions.direct"
            + (BY_DEFAULT ? ", and do not set the system property org.rdmapanama.direct" : "");

    private static final AtomicBoolean WARNED = new AtomicBoolean();

    private DirectQueues() {}

    /** Returns the path that queues of this context take: null for that of the driver. */
    static @Nullable DirectPath path(Context context, boolean wanted) {
        if (!wanted && !BY_DEFAULT) {
            return null;
        }
        try {
            return context.provider().directPath();
        } catch (UnsupportedOperationException | ServiceConfigurationError e) {
            if (wanted) {
                throw new UnsupportedOperationException(
                        "a direct queue cannot be created on " + context + ": " + e.getMessage(), e);
            }
            if (!WARNED.getAndSet(true)) {
                Log.LOGGER.warn("org.rdmapanama.direct has no effect on {}: {}", context.deviceName(), e.getMessage());
            }
            return null;
        }
    }

    /** Returns the path that a completion queue with these options takes: null for that of the driver. */
    static @Nullable DirectPath path(Context context, CompletionQueueOptions options) {
        boolean readable = !options.fields().contains(CompletionField.TM_INFO)
                && !options.fields().contains(CompletionField.COMPLETION_TIMESTAMP_WALLCLOCK);
        if (!readable && options.direct()) {
            throw new IllegalArgumentException("a direct completion queue has neither TM_INFO nor"
                    + " COMPLETION_TIMESTAMP_WALLCLOCK: " + options.fields());
        }
        return readable ? path(context, options.direct()) : null;
    }

    /** Takes over a completion queue that was created without options. */
    static @Nullable DirectCompletionQueue plainCompletionQueue(Context context, long address) {
        return completionQueue(context, path(context, false), address);
    }

    static @Nullable DirectCompletionQueue completionQueue(Context context, @Nullable DirectPath path, long address) {
        return path == null ? null : path.completionQueue(address, isShared(context));
    }

    static @Nullable DirectSharedReceiveQueue sharedReceiveQueue(
            Context context, @Nullable DirectPath path, long address, int maxSegments) {
        return path == null ? null : path.sharedReceiveQueue(address, maxSegments, isShared(context));
    }

    private static boolean isShared(Context context) {
        return context.arena.owner() == null;
    }

    /** Returns the path by which a queue pair is created: null for that of the driver. */
    static @Nullable DirectPath check(Context context, QueuePairOptions options) {
        CompletionQueue send = options.sendQueue();
        CompletionQueue receive = options.receiveQueue();
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        if (!isDirect(send) && !isDirect(receive) && (shared == null || !shared.isDirect())) {
            return null;
        }
        DirectPath path = context.provider().directPath();
        if (!path.types().contains(options.type())) {
            throw new IllegalArgumentException("the type of a queue pair with direct completion queues must be one of "
                    + new TreeSet<>(path.types()) + " on this device: " + options.type() + NOT_DIRECT);
        }
        if (options.needsSpecialSends()) {
            throw new IllegalArgumentException(
                    "a queue pair with direct completion queues must have neither createFlags nor" + " maxTsoHeader: "
                            + options);
        }
        if (!isDirect(send) || !isDirect(receive) || (shared != null && !shared.isDirect())) {
            throw new IllegalArgumentException("either all queues of a queue pair must be direct or none: the send"
                    + " completion queue is " + describe(isDirect(send)) + ", the receive completion queue is "
                    + describe(isDirect(receive))
                    + (shared == null ? "" : ", the shared receive queue is " + describe(shared.isDirect())));
        }
        return path;
    }

    private static boolean isDirect(@Nullable CompletionQueue queue) {
        return queue != null && queue.isDirect();
    }

    private static String describe(boolean direct) {
        return direct ? "direct" : "not direct";
    }

    /** Takes over a queue pair; or leaves it to the driver, which its thread domain is told of, and returns null. */
    static @Nullable DirectQueuePair queuePair(
            Context context,
            @Nullable ProtectionDomain protectionDomain,
            QueuePairOptions options,
            long address,
            QueuePairCapabilities granted) {
        AtomicBoolean driverPosts = protectionDomain instanceof ParentDomain parent
                ? parent.threadDomain().map(ThreadDomain::driverPosts).orElse(null)
                : null;
        CompletionQueue sends = options.sendQueue();
        CompletionQueue receives = options.receiveQueue();
        if (sends == null || receives == null || !sends.isDirect()) {
            if (driverPosts != null && sends != null) {
                driverPosts.set(true);
            }
            return null;
        }
        SharedReceiveQueue shared = options.sharedReceiveQueue();
        return context.provider()
                .directPath()
                .queuePair(
                        address,
                        new DirectPath.QueuePairParts(
                                granted,
                                options.signalsAll(),
                                sends.direct(),
                                receives.direct(),
                                shared == null ? null : shared.direct(),
                                isShared(context),
                                driverPosts));
    }

    /** The completions of other queues would not be understood. */
    static void refuse(@Nullable CompletionQueue queue, String user) {
        if (isDirect(queue)) {
            throw new IllegalArgumentException(user + " must not use a direct completion queue: " + queue + NOT_DIRECT);
        }
    }

    static void refuseWrapping(CompletionQueue send, @Nullable CompletionQueue receive) {
        if (isDirect(send) || isDirect(receive)) {
            throw new IllegalArgumentException("a native queue pair cannot be wrapped with direct completion queues,"
                    + " because the code that created it posts to it through the driver");
        }
    }

    /** The driver would write its request into a ring that it does not know any more. */
    static void refuseWindows(QueuePair queuePair) {
        if (queuePair.isDirect()) {
            throw new UnsupportedVerbException(
                    "ibv_bind_mw",
                    Errno.EOPNOTSUPP,
                    queuePair.context.deviceName(),
                    queuePair.toString(),
                    "a queue pair that is not direct");
        }
    }

    /** The driver would copy completions from where it believes them to be. */
    static void refuseResizing(CompletionQueue queue) {
        if (queue.isDirect()) {
            throw new UnsupportedVerbException(
                    "ibv_resize_cq",
                    Errno.EOPNOTSUPP,
                    queue.context.deviceName(),
                    queue.toString(),
                    "a completion queue that is not direct");
        }
    }
}
