package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_cq;
import org.rdmapanama.ffm.verbs.ibv_cq_init_attr_ex;
import org.rdmapanama.internal.Codes;

/** Where completion queues come from: creates them, ordinary and extended ones, and wraps native ones. */
final class CompletionQueueCreation {
    private CompletionQueueCreation() {}

    static CompletionQueue create(Context context, int entries, CompletionChannel channel, int completionVector) {
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
                cq -> create(context, cq));
    }

    static ExtendedCompletionQueue createExtended(Context context, CompletionQueueOptions options) {
        CompletionChannel channel = options.channel();
        ProtectionDomain parentDomain = options.parentDomain();
        if (channel != null) {
            requireSameContext(context, channel);
        }
        if (parentDomain != null) {
            requireSameContext(context, parentDomain);
        }
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_cq_init_attr_ex.layout());
            options.write(attributes);
            return context.create(
                    new Creation("ibv_create_cq_ex", CompletionQueue.ENDING)
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
                        return context.provider().createExtendedCompletionQueue(attributes.address());
                    },
                    cq -> {
                        VerbsObject first = channelOrContext(context, cq);
                        return parentDomain == null
                                ? new ExtendedCompletionQueue(context, cq, options.fields(), first)
                                : new ExtendedCompletionQueue(context, cq, options.fields(), first, parentDomain);
                    });
        }
    }

    private static String cureOfCreate(Context context, int errno) {
        if (errno == Errno.EINVAL.number) {
            return "the device allows at most " + context.queryDevice().maxCompletionQueueEntries()
                    + " entries, and may have fewer completion vectors";
        }
        return errno == Errno.ENOMEM.number ? RegistrableMemory.cureOfTooMany("completion queues") : null;
    }

    static CompletionQueue wrap(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, cq -> create(context, cq));
    }

    static ExtendedCompletionQueue wrapExtended(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(
                nativeAddress,
                ownership,
                cq -> new ExtendedCompletionQueue(
                        context,
                        cq,
                        Codes.flags(
                                CompletionField.class,
                                CompletionField::code,
                                context.provider().preparePollBatches().readable(cq)),
                        channelOrContext(context, cq)));
    }

    /** The caller must hold the arena's lock. */
    private static CompletionQueue create(Context context, long address) {
        return new CompletionQueue(context, address, channelOrContext(context, address));
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
