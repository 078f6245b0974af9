package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.interleaving.Explorer;
import org.rdmapanama.interleaving.SteppedClasses;

/**
 * Explores in which orders threads can meet. Neither a model, which may be right where the code is wrong, nor jcstress,
 * which takes the orders that the processors of a machine happen to give: this runs the code itself, in each order with up
 * to two changes of the thread that none of them had to make, and time stands still, so that whatever only a bound would
 * end is a failure.
 */
class InterleavingsTest {
    /** The classes under test, and all that refer to them. */
    private static final Set<String> PACKAGES = Set.of(
            "org.rdmapanama",
            "org.rdmapanama.address",
            "org.rdmapanama.completion",
            "org.rdmapanama.device",
            "org.rdmapanama.event",
            "org.rdmapanama.ffm.internal",
            "org.rdmapanama.flow",
            "org.rdmapanama.internal",
            "org.rdmapanama.internal.libibverbs",
            "org.rdmapanama.internal.network",
            "org.rdmapanama.internal.provider",
            "org.rdmapanama.memory",
            "org.rdmapanama.pool",
            "org.rdmapanama.queue");

    private static final Set<String> STEPPED = Set.of(
            "org.rdmapanama.Batch",
            "org.rdmapanama.BatchWait",
            "org.rdmapanama.ClearedQueues",
            "org.rdmapanama.Closing",
            "org.rdmapanama.Context",
            "org.rdmapanama.ContextObject",
            "org.rdmapanama.ContextObjects",
            "org.rdmapanama.ContextOpening",
            "org.rdmapanama.CompletionChannel",
            "org.rdmapanama.CompletionQueue",
            "org.rdmapanama.CompletionQueueCreation",
            "org.rdmapanama.ExtendedCompletionQueue",
            "org.rdmapanama.PollCursor",
            "org.rdmapanama.ExtendedQueuePair",
            "org.rdmapanama.MulticastGroups",
            "org.rdmapanama.Ports",
            "org.rdmapanama.QueueObject",
            "org.rdmapanama.QueuePair",
            "org.rdmapanama.QueuePairControl",
            "org.rdmapanama.QueuePairCreation",
            "org.rdmapanama.QueuePairDrain",
            "org.rdmapanama.RareOperation",
            "org.rdmapanama.pool.RegisteredPool",
            "org.rdmapanama.internal.ShortWait",
            "org.rdmapanama.VerbsArena",
            "org.rdmapanama.VerbsObject",
            "org.rdmapanama.WorkRequestBuilder",
            "org.rdmapanama.ffm.internal.ReadySource",
            "org.rdmapanama.ffm.internal.ShortLock",
            "org.rdmapanama.ffm.internal.Sleeper",
            "org.rdmapanama.ffm.internal.Waiting");

    /** With one, it takes a twentieth of the time. */
    private static final int MOST_DEVIATIONS = Integer.getInteger("interleavings.deviations", 2);

    /** One for all scenarios, so that the JVM compiles the classes once: all that a run changes is made anew for it. */
    private static final ClassLoader STEPPED_CLASSES = new SteppedClasses(PACKAGES, STEPPED);

    @ParameterizedTest
    @EnumSource
    void shouldComeToAnEndInEachOrder(Interleaved scenario) throws ReflectiveOperationException {
        int deviations = Math.min(scenario.deviations, MOST_DEVIATIONS);
        int runs = Explorer.explore(stepped(scenario), deviations);

        int least = deviations < scenario.deviations ? 5 : 30;
        assertTrue(runs > least, "only " + runs + " orders");
    }

    /** The same constant, of classes that give way at each step. */
    @SuppressWarnings("unchecked")
    private static Supplier<Explorer.Scenario> stepped(Interleaved scenario) throws ReflectiveOperationException {
        for (Object constant :
                STEPPED_CLASSES.loadClass(Interleaved.class.getName()).getEnumConstants()) {
            if (((Enum<?>) constant).name().equals(scenario.name())) {
                return (Supplier<Explorer.Scenario>) constant;
            }
        }
        throw new AssertionError(scenario);
    }
}
