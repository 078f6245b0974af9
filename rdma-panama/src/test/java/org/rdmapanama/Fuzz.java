package org.rdmapanama;

import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/**
 * Random calls of the public API with random arguments, right and wrong, on objects in all states. Whatever comes back
 * must be a result or one of the exceptions that the API documents; the virtual machine must live.
 */
final class Fuzz {
    /** How many calls are made in one world before it is closed and another one begins. */
    private static final int CALLS_IN_A_WORLD = 10_000;

    /** What came of a call that returned normally. */
    static final String RETURNED = "returned";

    /** What can be thrown whatever the method. */
    private static final List<Class<?>> DOCUMENTED = List.of(
            IllegalArgumentException.class,
            IllegalStateException.class,
            IndexOutOfBoundsException.class,
            VerbsException.class,
            UnsupportedOperationException.class,
            FailedCompletionException.class,
            OutOfMemoryError.class);

    /** Their arguments are addresses and descriptors that only exist if somebody made them. */
    private static final Set<String> TRUST_THEIR_ARGUMENTS = Set.of("ofNativeAddress", "importFrom");

    private static final Set<String> INVALIDATE = Set.of("sendWithInvalidate", "localInvalidate");

    private final Random random;
    private final long seed;
    private final List<Target> targets = Api.calls().stream()
            .filter(call -> !isExcluded(call))
            .map(Target::new)
            .toList();
    private World world;
    private FuzzTraffic traffic;
    private int made;

    /** A call, and what has come of it so far: how often by the class of what it threw, or {@link #RETURNED}. */
    private static final class Target {
        /** So that calls often meet what is closed. */
        private static final int CLOSING = 8;

        final Executable call;
        final boolean needsReceiver;
        final Map<String, Integer> outcomes = new HashMap<>();

        /** How often it is to be made, compared with others: the more arguments, the more can come of it. */
        private final int weight;

        private final boolean asksTheNetwork;
        private int chosen;

        Target(Executable call) {
            this.call = call;
            needsReceiver = Api.needsReceiver(call);
            asksTheNetwork = call.getName().equals("resolveEthernetAddress") && LabDevices.areNative();
            boolean reachesDevice = VerbsObject.class.isAssignableFrom(call.getDeclaringClass());
            boolean closes = call.getName().equals("close");
            weight = closes ? CLOSING : (1 + 2 * call.getParameterCount()) * (reachesDevice ? 2 : 1);
        }

        /** libibverbs waits three seconds for a neighbor that does not answer. */
        boolean hasWaitedEnough() {
            return asksTheNetwork && outcomes.getOrDefault(VerbsException.class.getSimpleName(), 0) >= 2;
        }

        void choose() {
            chosen++;
        }

        /** Whether this has been chosen less often than another one, each as seldom as its weight and luck tell. */
        boolean isBehind(Target other) {
            return (long) chosen * other.share() < (long) other.chosen * share();
        }

        /** What has never returned may need many attempts. */
        private int share() {
            return outcomes.containsKey(RETURNED) ? weight : 4 * weight;
        }

        void add(String outcome) {
            outcomes.merge(outcome, 1, Integer::sum);
        }
    }

    Fuzz(long seed) {
        this.seed = seed;
        random = new Random(seed);
    }

    static boolean isExcluded(Executable call) {
        return TRUST_THEIR_ARGUMENTS.contains(call.getName())
                // What is global to the process, and what would leave an arena behind that nobody closes.
                || call.getDeclaringClass().getSimpleName().equals("ForkSupport")
                || (Modifier.isStatic(call.getModifiers()) && call.getDeclaringClass() == VerbsArena.class);
    }

    /** Whether an outcome, the class of what was thrown, says that the call is right, but not for this device. */
    static boolean meansThatTheDeviceCannot(String outcome) {
        return outcome.equals(UnsupportedVerbException.class.getSimpleName())
                || outcome.equals(UnsupportedOperationException.class.getSimpleName());
    }

    /** Goes on until it has made so many calls; returns what came of each call, and how often. */
    Map<String, Map<String, Integer>> run(int count) {
        // What is confined to the thread of an earlier run is none of this one's.
        world = null;
        while (made < count) {
            VerbsArena arena = random.nextBoolean() ? VerbsArena.ofConfined() : VerbsArena.ofShared();
            World earlier = world;
            try (World current = new World(random, arena)) {
                world = current;
                if (earlier != null) {
                    world.addClosed(earlier);
                }
                traffic = new FuzzTraffic(world);
                for (int i = 0; i < CALLS_IN_A_WORLD && made < count && current.pair.a.queuePair.isOpen(); i++) {
                    callOne();
                }
            }
        }
        return targets.stream()
                .collect(Collectors.toMap(target -> Api.describe(target.call), target -> target.outcomes));
    }

    /** Of a few, the one that is furthest behind: the order stays random, while none is made far less often than others. */
    private Target choose() {
        Target best = targets.get(random.nextInt(targets.size()));
        for (int i = 1; i < 3; i++) {
            Target other = targets.get(random.nextInt(targets.size()));
            if (best.hasWaitedEnough() || (other.isBehind(best) && !other.hasWaitedEnough())) {
                best = other;
            }
        }
        best.choose();
        return best;
    }

    /** Often such that the call gets far, or that only one of them stops it. */
    private Object[] arguments(Executable call) {
        int count = call.getParameterCount();
        return switch (random.nextInt(4)) {
            case 0 -> world.arguments(call, 0);
            case 1 -> world.carefulArguments(call, count == 0 ? -1 : random.nextInt(count));
            default -> world.carefulArguments(call, -1);
        };
    }

    /** One that there is something to do with, or any other. */
    private Object usual(Class<?> type) {
        if (type.isEnum()) {
            return type.getEnumConstants()[random.nextInt(type.getEnumConstants().length)];
        }
        Object busy = random.nextInt(4) == 0 ? traffic.busy(type) : null;
        return busy == null ? world.existing(type) : busy;
    }

    private void callOne() {
        Target target = choose();
        Executable call = target.call;
        Object receiver = null;
        boolean isClosed = false;
        if (target.needsReceiver) {
            receiver = random.nextInt(8) == 0 ? world.closed(call.getDeclaringClass()) : null;
            isClosed = receiver != null;
            if (!isClosed) {
                receiver = usual(call.getDeclaringClass());
            }
            if (receiver == null || isTooFinal(call, receiver)) {
                return;
            }
        }
        Object[] arguments = isClosed ? world.carefulArguments(call, -1) : arguments(call);
        if (random.nextInt(12) == 0) {
            putNull(call, arguments);
        }
        made++;
        try {
            Object result = World.invoke(call, receiver, bounded(call, arguments));
            target.add(RETURNED);
            addToWorld(result);
            if (call.getName().equals("close")) {
                world.addClosed(receiver);
            }
        } catch (InvocationTargetException e) {
            target.add(e.getCause().getClass().getSimpleName());
            check(call, receiver, arguments, e.getCause());
            addToWorld(e.getCause());
        }
        if (made % 16 == 0) {
            pollAll();
            traffic.goOn();
        }
    }

    private void addToWorld(Object returned) {
        Object result = returned instanceof Optional<?> optional ? optional.orElse(null) : returned;
        if (result != null && result.getClass().getName().startsWith("org.rdmapanama.")) {
            world.add(result);
        }
    }

    /** Closing what everything else stands on must stay rare, or there is nothing left to call. */
    private boolean isTooFinal(Executable call, Object receiver) {
        boolean closes = call.getName().equals("close");
        boolean root = receiver instanceof VerbsArena
                || receiver instanceof Context
                || receiver == world.pair.a.domain
                || receiver == world.pair.b.domain
                || receiver == world.pair.a.queue
                || receiver == world.pair.b.queue
                || receiver == world.pair.a.channel
                || receiver == world.pair.a.queuePair
                || traffic.standsOn(receiver);
        return closes && root && random.nextInt(100) > 0;
    }

    private void putNull(Executable call, Object[] arguments) {
        int[] references = Stream.iterate(0, i -> i < arguments.length, i -> i + 1)
                .filter(i -> !call.getParameterTypes()[i].isPrimitive())
                .mapToInt(i -> i)
                .toArray();
        if (references.length > 0) {
            arguments[references[random.nextInt(references.length)]] = null;
        }
    }

    /**
     * Memory is there for all, and the guest has not much. And the kernel crashes when a key of a window is invalidated that
     * is not bound (rxe_invalidate_mw, Linux 6.1).
     */
    private Object[] bounded(Executable call, Object[] arguments) {
        String name = Api.name(call);
        if (name.equals("VerbsArena.allocate")) {
            arguments[0] = Math.min((long) arguments[0], 65_536);
            if (arguments.length > 1) {
                arguments[1] = Math.min((long) arguments[1], 4096);
            }
        } else if (name.equals("RegisteredPool.create")) {
            arguments[1] = Math.min((long) arguments[1], 65_536);
        } else if (INVALIDATE.contains(call.getName())
                && LabDevices.areNative()
                && world.isKeyOfWindow((int) arguments[0])) {
            arguments[0] = 1;
        }
        return arguments;
    }

    private void pollAll() {
        for (Side side : List.of(world.pair.a, world.pair.b)) {
            if (side.queue.isOpen()) {
                try {
                    side.poll();
                } catch (VerbsException overrun) {
                    // Random posting may overrun a queue: closing it is what comes next.
                    side.queue.close();
                }
            }
        }
    }

    private void check(Executable call, Object receiver, Object[] arguments, Throwable thrown) {
        boolean documented = DOCUMENTED.stream().anyMatch(type -> type.isInstance(thrown))
                || Arrays.asList(call.getExceptionTypes()).contains(thrown.getClass())
                || (thrown instanceof NullPointerException && hasNull(arguments));
        // What could not be ended would keep whatever it was made on.
        boolean closing = call.getName().equals("close") && thrown instanceof VerbsException;
        if (!documented || closing) {
            throw new AssertionError(
                    "seed " + seed + ", call " + made + ": " + Api.describe(call) + " of " + receiver + " with "
                            + Arrays.toString(arguments) + " threw " + thrown,
                    thrown);
        }
    }

    /** Also inside arrays and collections. */
    private static boolean hasNull(Object[] arguments) {
        return Arrays.stream(arguments)
                .anyMatch(argument -> argument == null
                        || (argument instanceof Object[] array && hasNull(array))
                        || (argument instanceof List<?> list && list.contains(null)));
    }
}
