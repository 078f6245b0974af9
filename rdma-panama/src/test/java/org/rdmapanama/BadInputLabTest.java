package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;

/**
 * What every public method does when it is given null, something of another arena or context, or numbers out of range.
 * The methods are found by reflection; what a closed object and a wrong thread get is in {@link ClosingLabTest} and
 * {@link ThreadsLabTest}, whose list of uses is checked here for being complete.
 */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BadInputLabTest {
    /** Of these classes every method may be called at any time, by any thread. */
    private static final Set<String> ANYTHING_GOES = Set.of("isOpen", "close", "context");

    /** What is refused changes nothing: the next test can use the same objects. */
    private static World world;

    private static World elsewhere;

    /** Another thread may run the next test. */
    private static World newWorld() {
        return new World(new Random(1), VerbsArena.ofShared());
    }

    private static World world() {
        if (world == null) {
            world = newWorld();
        }
        return world;
    }

    private static World elsewhere() {
        if (elsewhere == null) {
            elsewhere = newWorld();
        }
        return elsewhere;
    }

    /** Also after a call that changed something. */
    @AfterAll
    static void closeWorlds() {
        for (World used : new World[] {world, elsewhere}) {
            if (used != null) {
                used.close();
            }
        }
        world = null;
        elsewhere = null;
    }

    private static InvocationTargetException refused(Executable call, Object receiver, Object[] arguments) {
        try {
            World.invoke(call, receiver, arguments);
        } catch (InvocationTargetException e) {
            return e;
        }
        closeWorlds();
        throw new AssertionError(Api.describe(call) + " was not refused");
    }

    @TestFactory
    Stream<DynamicTest> shouldRefuseNullUnlessNullable() {
        List<DynamicTest> tests = new ArrayList<>();
        for (Executable call : Api.calls()) {
            for (int i = 0; i < call.getParameterCount(); i++) {
                int place = i;
                String name = Api.describe(call) + " " + place;
                if (call.getAnnotatedParameterTypes()[i].isAnnotationPresent(Nullable.class)) {
                    tests.add(dynamicTest(name + " @Nullable", () -> takeNull(call, place)));
                } else if (!call.getParameterTypes()[i].isPrimitive()) {
                    tests.add(dynamicTest(name, () -> refuseNull(call, place)));
                }
            }
        }
        return tests.stream();
    }

    @Test
    void shouldMarkWhatMustNotBeNull() {
        for (Class<?> type : Api.classes()) {
            assertTrue(type.getPackage().isAnnotationPresent(NullMarked.class), type.getPackageName());
        }
    }

    /** It may be refused for another reason. */
    private static void takeNull(Executable call, int place) throws ReflectiveOperationException {
        Object receiver = receiverOf(world(), call);
        Object[] arguments = validArguments(world(), call);
        arguments[place] = null;
        try {
            World.invoke(call, receiver, arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof NullPointerException) {
                fail(Api.describe(call) + " " + place, e.getCause());
            }
        } finally {
            closeWorlds();
        }
    }

    private static Object receiverOf(World world, Executable call) {
        if (!Api.needsReceiver(call)) {
            return null;
        }
        Object receiver = world.valid(call.getDeclaringClass(), call.getDeclaringClass());
        assertNotNull(receiver, () -> "no " + call.getDeclaringClass() + " in the world of the tests");
        return receiver;
    }

    private static Object[] validArguments(World world, Executable call) {
        Object[] arguments = new Object[call.getParameterCount()];
        for (int i = 0; i < arguments.length; i++) {
            arguments[i] = world.valid(call.getParameterTypes()[i], call.getGenericParameterTypes()[i]);
        }
        return arguments;
    }

    private static void refuseNull(Executable call, int place) {
        Object receiver = receiverOf(world(), call);
        Object[] arguments = validArguments(world(), call);
        arguments[place] = null;
        assertInstanceOf(
                NullPointerException.class, refused(call, receiver, arguments).getCause());
    }

    /** Whatever takes an object that belongs to an arena or a context must refuse one of another. */
    @TestFactory
    Stream<DynamicTest> shouldRefuseWhatBelongsElsewhere() {
        List<DynamicTest> tests = new ArrayList<>();
        for (Executable call : Api.calls()) {
            if (Api.needsReceiver(call) && belongsSomewhere(call.getDeclaringClass())) {
                for (int i = 0; i < call.getParameterCount(); i++) {
                    int place = i;
                    if (belongsSomewhere(call.getParameterTypes()[i])) {
                        tests.add(dynamicTest(Api.describe(call) + " " + place, () -> refuseForeign(call, place)));
                    }
                }
            }
        }
        return tests.stream();
    }

    private static boolean belongsSomewhere(Class<?> type) {
        return VerbsObject.class.isAssignableFrom(type)
                || Set.of(
                                "SendWorkRequest",
                                "ReceiveWorkRequest",
                                "WorkCompletions",
                                "TagOperation",
                                "WorkRequestBuilder")
                        .contains(type.getSimpleName());
    }

    private static void refuseForeign(Executable call, int place) {
        Object receiver = receiverOf(world(), call);
        Object[] arguments = validArguments(world(), call);
        Object foreign = elsewhere().valid(call.getParameterTypes()[place], call.getParameterTypes()[place]);
        assertNotNull(foreign, () -> "no " + call.getParameterTypes()[place] + " in the world of the tests");
        arguments[place] = foreign;
        assertInstanceOf(
                IllegalArgumentException.class,
                refused(call, receiver, arguments).getCause());
    }

    /** Numbers far out of every range get a word, or are taken because the field has all bits; nothing else. */
    @TestFactory
    Stream<DynamicTest> shouldBearAnyNumber() {
        return Api.calls().stream()
                .filter(call -> !Fuzz.isExcluded(call))
                .filter(call -> call.getDeclaringClass() != VerbsArena.class)
                .filter(call -> Stream.of(call.getParameterTypes()).anyMatch(BadInputLabTest::isNumber))
                .map(call -> dynamicTest(Api.describe(call), () -> bearNumbers(call)));
    }

    private static boolean isNumber(Class<?> type) {
        return type == int.class || type == long.class || type == short.class;
    }

    private static void bearNumbers(Executable call) {
        boolean changed = false;
        for (long number : new long[] {Long.MIN_VALUE, Integer.MIN_VALUE, -1, Integer.MAX_VALUE, Long.MAX_VALUE}) {
            Object receiver = receiverOf(world(), call);
            Object[] arguments = validArguments(world(), call);
            for (int i = 0; i < arguments.length; i++) {
                Class<?> type = call.getParameterTypes()[i];
                if (type == int.class) {
                    arguments[i] = (int) number;
                } else if (type == long.class) {
                    arguments[i] = number;
                } else if (type == short.class) {
                    arguments[i] = (short) number;
                }
            }
            try {
                World.invoke(call, receiver, arguments);
                changed = true;
            } catch (InvocationTargetException e) {
                assertDocumented(call, number, e.getCause());
            }
        }
        if (changed) {
            closeWorlds();
        }
    }

    private static void assertDocumented(Executable call, long number, Throwable thrown) {
        boolean documented = thrown instanceof IllegalArgumentException
                || thrown instanceof IndexOutOfBoundsException
                || thrown instanceof IllegalStateException
                || thrown instanceof VerbsException
                || thrown instanceof UnsupportedVerbException;
        if (!documented) {
            fail(Api.describe(call) + " with " + number, thrown);
        }
    }

    /** The tests of closed objects and wrong threads go through a list: it must have every method. */
    @Test
    void shouldKnowEveryUseOfANativeObject() {
        Set<String> listed = Uses.ALL.stream().map(Uses.Use::name).collect(Collectors.toSet());
        Set<String> missing = new TreeSet<>();
        for (Executable call : Api.calls()) {
            Class<?> type = call.getDeclaringClass();
            if (VerbsObject.class.isAssignableFrom(type)
                    && !Modifier.isStatic(call.getModifiers())
                    && !ANYTHING_GOES.contains(call.getName())
                    && !Uses.READ_BY_ANYBODY.contains(Api.name(call))
                    && !listed.contains(Api.name(call))) {
                missing.add(Api.name(call));
            }
        }
        assertEquals(Collections.emptySet(), missing, "neither in Uses.ALL nor in Uses.READ_BY_ANYBODY");
    }
}
