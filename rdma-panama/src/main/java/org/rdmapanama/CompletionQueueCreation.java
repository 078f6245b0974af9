package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.DriverFunction;

/** Where completion queues come from: creates them, ordinary and extended ones, and wraps native ones. */
final class CompletionQueueCreation {
    private CompletionQueueCreation() {}

    static CompletionQueue create(
            Context context, int entries, @Nullable CompletionChannel channel, int completionVector) {
        CompletionQueue.checkedEntries(entries);
        CompletionQueue.checkedVector(completionVector);
        if (channel != null) {
            requireSameContext(context, channel);
        }
        return context.create(
                new Creation("ibv_create_cq", CompletionQueue.ENDING)
                        .arguments(() -> entries + " entries, completion vector " + completionVector)
                        .cures(errno -> cureOfCreate(context, errno)),
                () -> {
                    if (channel != null) {
                        channel.checkOpen();
                    }
                    long channelAddress = channel == null ? 0 : channel.address;
                    return context.provider().createCompletionQueue(entries, 0, channelAddress, completionVector);
                },
                cq -> new CompletionQueue(
                        context, cq, DirectQueues.plainCompletionQueue(context, cq), channelOrContext(context, cq)));
    }

    static ExtendedCompletionQueue createExtended(Context context, CompletionQueueOptions options) {
        return createExtended(
                context,
                options,
                new DriverFunction("ibv_create_cq_ex", context.provider()::createExtendedCompletionQueue));
    }

    static ExtendedCompletionQueue createExtended(
            Context context, CompletionQueueOptions options, DriverFunction function) {
        CompletionChannel channel = options.channel();
        ProtectionDomain parentDomain = options.parentDomain();
        if (channel != null) {
            requireSameContext(context, channel);
        }
        if (parentDomain != null) {
            requireSameContext(context, parentDomain);
        }
        DirectPath path = DirectQueues.path(context, options);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_cq_init_attr_ex.layout());
            options.write(attributes);
            return context.create(
                    new Creation(function.name(), CompletionQueue.ENDING)
                            .arguments(options::toString)
                            .cures(errno -> cureOfCreate(context, errno))
                            .capability(options.capability()),
                    () -> {
                        if (channel != null) {
                            channel.checkOpen();
                        }
                        if (parentDomain != null) {
                            parentDomain.checkOpen();
                        }
                        return function.call().applyAsLong(attributes.address());
                    },
                    cq -> {
                        VerbsObject first = channelOrContext(context, cq);
                        VerbsObject[] parents = parentDomain == null
                                ? new VerbsObject[] {first}
                                : new VerbsObject[] {first, parentDomain};
                        return new ExtendedCompletionQueue(
                                context,
                                cq,
                                DirectQueues.completionQueue(context, path, cq),
                                options.fields(),
                                options.singleThreaded(),
                                parents);
                    });
        }
    }

    private static @Nullable String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL) {
            return "the device allows at most " + context.queryDevice().maxCompletionQueueEntries()
                    + " entries, and may have fewer completion vectors";
        }
        return errno == Errno.ENOMEM ? RegistrableMemory.cureOfTooMany("completion queues") : null;
    }

    static CompletionQueue wrap(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(
                nativeAddress, ownership, cq -> new CompletionQueue(context, cq, null, channelOrContext(context, cq)));
    }

    static ExtendedCompletionQueue wrapExtended(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(
                nativeAddress,
                ownership,
                cq -> new ExtendedCompletionQueue(
                        context,
                        cq,
                        null,
                        Codes.flags(
                                CompletionField.class,
                                CompletionField::code,
                                context.provider().preparePollBatches(false).readable(cq)),
                        false,
                        channelOrContext(context, cq)));
    }

    /** The parent of a queue: the object of its channel or, if there is none, the open device. */
    private static VerbsObject channelOrContext(Context context, long address) {
        long channel = ibv_cq.channel(Native.struct(address, ibv_cq.layout())).address();
        return context.find(channel) instanceof CompletionChannel known ? known : context;
    }

    private static void requireSameContext(Context context, ContextObject other) {
        if (other.context != context) {
            throw new IllegalArgumentException(other + " belongs to another context than " + context);
        }
    }
}
