package org.rdmapanama;

import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.rdmapanama.testing.Side;

/**
 * Random calls of the public API with random arguments, right and wrong, on objects in all states. Whatever comes back
 * must be a result or one of the exceptions that the API documents; the virtual machine must live.
 */
final class Fuzz {
    /** How many calls are made in one world before it is closed and another one begins. */
    private static final int CALLS_IN_A_WORLD = 10_000;

    /** What can be thrown whatever the method. */
    private static final List<Class<?>> DOCUMENTED = List.of(
            IllegalArgumentException.class,
            IllegalStateException.class,
            IndexOutOfBoundsException.class,
            VerbsException.class,
            UnsupportedOperationException.class,
            OutOfMemoryError.class);

    /** Their arguments are addresses and descriptors that only exist if somebody made them. */
    private static final Set<String> TRUST_THEIR_ARGUMENTS = Set.of("ofNativeAddress", "importFrom");

    private final Random random;
    private final long seed;
    private final List<Executable> calls =
            Api.calls().stream().filter(call -> !isExcluded(call)).toList();
    private World world;
    private int made;
    private int returned;

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

    /** Makes so many calls; returns how many of them returned normally. */
    int run(int count) {
        while (made < count) {
            VerbsArena arena = random.nextBoolean() ? VerbsArena.ofConfined() : VerbsArena.ofShared();
            try (World current = new World(random, arena)) {
                world = current;
                for (int i = 0; i < CALLS_IN_A_WORLD && made < count && current.pair.a.queuePair.isOpen(); i++) {
                    callOne();
                }
            }
        }
        return returned;
    }

    private void callOne() {
        Executable call = calls.get(random.nextInt(calls.size()));
        Object receiver = null;
        if (Api.needsReceiver(call)) {
            receiver = world.existing(call.getDeclaringClass());
            if (receiver == null || isTooFinal(call, receiver)) {
                return;
            }
        }
        Object[] arguments = world.arguments(call, 0);
        if (random.nextInt(20) == 0) {
            putNull(call, arguments);
        }
        made++;
        try {
            Object result = World.invoke(call, receiver, bounded(call, arguments));
            returned++;
            if (result != null && result.getClass().getName().startsWith("org.rdmapanama.")) {
                world.add(result);
            }
        } catch (InvocationTargetException e) {
            check(call, receiver, arguments, e.getCause());
        }
        if (made % 16 == 0) {
            pollAll();
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
                || receiver == world.pair.a.queuePair;
        return closes && root && random.nextInt(2_000) > 0;
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

    /** Memory is there for all, and the guest has not much. */
    private static Object[] bounded(Executable call, Object[] arguments) {
        String name = Api.name(call);
        if (name.equals("VerbsArena.allocate")) {
            arguments[0] = Math.min((long) arguments[0], 65_536);
            if (arguments.length > 1) {
                arguments[1] = Math.min((long) arguments[1], 4096);
            }
        } else if (name.equals("RegisteredPool.create")) {
            arguments[1] = Math.min((long) arguments[1], 65_536);
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
