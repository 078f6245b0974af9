package org.rdmapanama;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_rwq_ind_table;
import org.rdmapanama.ffm.verbs.ibv_rwq_ind_table_init_attr;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * A table of work queues, {@code struct ibv_rwq_ind_table}: a queue pair spreads received packets over them, by a hash
 * of each packet's header (receive side scaling).
 *
 * <p>It is closed after the queue pairs that use it and before its work queues.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class ReceiveIndirectionTable extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_rwq_ind_table", ProviderContext::destroyIndirectionTable);

    private final List<WorkQueue> workQueues;
    private final int number;

    private ReceiveIndirectionTable(Context context, List<WorkQueue> workQueues, long address) {
        super(context, address, parents(context, workQueues));
        this.workQueues = workQueues;
        number = ibv_rwq_ind_table.ind_tbl_num(Native.struct(address, ibv_rwq_ind_table.layout()));
    }

    private static VerbsObject[] parents(Context context, List<WorkQueue> workQueues) {
        Set<VerbsObject> parents = new LinkedHashSet<>(workQueues);
        parents.add(context);
        return parents.toArray(new VerbsObject[0]);
    }

    private static List<WorkQueue> checked(Context context, List<WorkQueue> workQueues) {
        List<WorkQueue> copy = List.copyOf(workQueues);
        if (Integer.bitCount(copy.size()) != 1) {
            throw new IllegalArgumentException("the number of workQueues must be a power of two: " + copy.size()
                    + "; the same one may be named several times");
        }
        for (WorkQueue workQueue : copy) {
            if (workQueue.context != context) {
                throw new IllegalArgumentException(workQueue + " belongs to another context than " + context);
            }
        }
        return copy;
    }

    static ReceiveIndirectionTable create(Context context, List<WorkQueue> workQueues) {
        List<WorkQueue> queues = checked(context, workQueues);
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment list = temporary.allocate(JAVA_LONG, queues.size());
            for (int i = 0; i < queues.size(); i++) {
                list.setAtIndex(JAVA_LONG, i, queues.get(i).address);
            }
            MemorySegment attributes = temporary.allocate(ibv_rwq_ind_table_init_attr.layout());
            ibv_rwq_ind_table_init_attr.log_ind_tbl_size(attributes, Integer.numberOfTrailingZeros(queues.size()));
            ibv_rwq_ind_table_init_attr.ind_tbl(attributes, list);
            return context.create(
                    new Creation("ibv_create_rwq_ind_table", ENDING)
                            .arguments(() -> queues.size() + " work queues")
                            .capability("DeviceAttributes.rssCapabilities"),
                    () -> {
                        queues.forEach(WorkQueue::checkOpen);
                        return context.provider().createIndirectionTable(attributes.address());
                    },
                    table -> new ReceiveIndirectionTable(context, queues, table));
        }
    }

    /**
     * Wraps a table that other code in this process has created.
     *
     * @param context the open device on which it was created
     * @param workQueues the work queues of the table, in order
     * @param nativeAddress address of the {@code struct ibv_rwq_ind_table}
     * @param ownership whether closing this object destroys the native one
     * @return the table
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, the number of work queues is
     *     not a power of two, or one belongs to another context
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context or a work queue is closed
     */
    @CheckReturnValue
    public static ReceiveIndirectionTable ofNativeAddress(
            Context context, List<WorkQueue> workQueues, long nativeAddress, Ownership ownership) {
        List<WorkQueue> queues = checked(Objects.requireNonNull(context, "context"), workQueues);
        return context.wrap(nativeAddress, ownership, table -> {
            queues.forEach(WorkQueue::checkOpen);
            return new ReceiveIndirectionTable(context, queues, table);
        });
    }

    /** {@return the work queues, in the order of their hash values} */
    public List<WorkQueue> workQueues() {
        return workQueues;
    }

    /** {@return the number of the table on the device} */
    public int number() {
        return number;
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 1;
    }

    /** Number, size and device. */
    @Override
    public String toString() {
        return "indirection table " + number + " of " + workQueues.size() + " work queues of " + context;
    }
}
