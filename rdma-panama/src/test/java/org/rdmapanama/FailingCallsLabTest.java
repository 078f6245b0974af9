package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.ErrnoText;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.standin.FailingProvider;
import org.rdmapanama.standin.PretendingProvider;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.LabDevices;
import org.rdmapanama.testing.Side;

/**
 * Whatever a program calls, and whichever of the native calls behind it fails: the program is told, nothing is left over,
 * and the same works when it is called again.
 */
@Tag("lab")
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FailingCallsLabTest {
    /** These look at memory that is not there, unless they refuse before, as they do elsewhere. */
    static final Set<String> NOT_TO_BE_CALLED = Set.of(
            "CompletionQueue.ofNativeAddress",
            "ExtendedCompletionQueue.ofNativeAddress",
            "CompletionChannel.ofNativeAddress");

    /** What gives an address, and has no errno to give. */
    private static final Set<String> NO_CALLS = Set.of("address", "extended");

    /** Of these ENOMEM says that a queue is full, which methods that begin with try return. */
    private static final Set<String> POSTS = Set.of(
            "postSend",
            "postReceive",
            "postSharedReceive",
            "postSharedOperations",
            "postWorkQueueReceive",
            "bindMemoryWindow");

    /** What has come so far that it is done already, on the sides that {@link Uses} gets. */
    private static final List<Uses.Use> CHANGES = List.of(
            new Uses.Use("QueuePair.connect from RESET", side -> {
                QueuePair fresh = unconnected(side);
                Endpoint own = fresh.localEndpoint(LabDevices.connectOptions());
                return () -> fresh.connect(own);
            }),
            new Uses.Use("QueuePair.initialize from RESET", side -> {
                QueuePair fresh = unconnected(side);
                fresh.localEndpoint(LabDevices.connectOptions());
                return fresh::initialize;
            }),
            new Uses.Use("QueuePair.localEndpoint for the first time", side -> {
                QueuePair fresh = unconnected(side);
                return () -> fresh.localEndpoint(LabDevices.connectOptions());
            }));

    private static QueuePair unconnected(Side side) {
        return side.domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, side.queue));
    }

    /** Null when it worked. */
    static Throwable thrown(Uses.Prepared call) {
        try {
            call.run();
            return null;
        } catch (Exception | Error e) {
            return e;
        }
    }

    /** What is the same each time. */
    static String kind(Throwable thrown) {
        return thrown == null
                ? "nothing"
                : thrown.getClass().getSimpleName() + (thrown instanceof VerbsException e ? " " + e.errnoName() : "");
    }

    @TestFactory
    Stream<DynamicTest> shouldTellLeaveNothingAndWorkAgain() {
        return Stream.concat(Uses.ALL.stream(), CHANGES.stream())
                .filter(use -> !NOT_TO_BE_CALLED.contains(use.name()))
                .map(use -> DynamicTest.dynamicTest(use.name(), () -> failEach(use)));
    }

    /** Where the lab is emulated, all of this takes minutes for each. */
    private static List<Integer> errnos() {
        return LabDevices.areNative() ? List.of(Errno.ENOMEM) : List.of(Errno.ENOMEM, Errno.EMFILE);
    }

    private static void failEach(Uses.Use use) {
        String usual;
        int count;
        FailingProvider device = device();
        try (ConnectedPair pair = open(device)) {
            Uses.Prepared call = use.prepare(pair.a);
            device.failAt(0, Errno.ENOMEM);
            usual = kind(thrown(call));
            count = device.methods().size();
        }
        List<String> faults = new ArrayList<>();
        for (int errno : errnos()) {
            for (int n = 1; n <= count; n++) {
                fail(use, n, errno, usual, faults);
            }
        }
        assertEquals(List.of(), faults);
    }

    private static void fail(Uses.Use use, int n, int errno, String usual, List<String> faults) {
        FailingProvider device = device();
        try (ConnectedPair pair = open(device)) {
            Uses.Prepared call = use.prepare(pair.a);
            Set<Long> alive = device.lives().alive();
            device.failAt(n, errno);
            Throwable thrown = thrown(call);
            String failed =
                    device.methods().size() < n ? "nothing" : device.methods().get(n - 1);
            String where = ErrnoText.name(errno) + " of " + failed + ", call " + n + ": ";
            if (thrown == null
                    && !(errno == Errno.ENOMEM
                            && POSTS.contains(failed)
                            && use.name().contains(".try"))) {
                faults.add(where + "nothing is thrown");
            }
            if (thrown != null && !tells(thrown, errno)) {
                faults.add(where + thrown);
            }
            if (thrown != null && !alive.equals(device.lives().alive())) {
                faults.add(where + "not the same native objects as before");
            }
            device.failAt(0, errno);
            Throwable again = thrown(call);
            if (!kind(again).equals(usual)) {
                faults.add(where + "then " + again + " instead of " + usual);
            }
        }
        if (!device.lives().alive().isEmpty()) {
            faults.add("left over after " + n);
        }
        faults.addAll(device.lives().faults());
    }

    /** Whether an exception names the function and what it reported. */
    private static boolean tells(Throwable thrown, int errno) {
        return thrown instanceof VerbsException e
                && e.verb().startsWith("ibv_")
                && e.errno() == errno
                && e.getMessage().contains(e.verb())
                && e.getMessage().contains(e.errnoName());
    }

    private static FailingProvider device() {
        return FailingProvider.of(PretendingProvider.of(LabDevices.first()));
    }

    private static ConnectedPair open(FailingProvider device) {
        return ConnectedPair.of(QueuePairType.RC)
                .through(own -> Context.open(own, LabDevices.first(), () -> device))
                .open();
    }

    @Test
    void shouldLetEachCallOfADeviceFail() {
        FailingProvider device = device();
        Set<String> failing = Stream.of(device.getClass(), FailingProvider.class)
                .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
                .map(Method::getName)
                .collect(Collectors.toSet());
        assertEquals(0, device.close());
        List<String> missing = Arrays.stream(ProviderContext.class.getDeclaredMethods())
                .filter(method -> Modifier.isPublic(method.getModifiers()))
                .filter(method -> method.getReturnType() == int.class || method.getReturnType() == long.class)
                .map(Method::getName)
                .filter(name -> !NO_CALLS.contains(name) && !name.matches("(close|destroy|dealloc|dereg|free[A-Z]).*"))
                .filter(name -> !failing.contains(name))
                .toList();
        assertEquals(List.of(), missing, "FailingProvider lacks these");
    }
}
