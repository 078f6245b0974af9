package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.Ownership;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Gid;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.soft.provider.SoftProvider;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Side;

/** What is over is over: nothing of a context that was closed stays, and nothing is done to memory given back. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class LifetimesTest {
    private static final SoftProvider PROVIDER = new SoftProvider();
    private static final Gid GROUP = new Gid(0xff0e_0000_0000_0000L, 0xffff_e001_0203L);
    private static final byte MARK = 0x5a;
    private static final Duration DRAIN = Duration.ofSeconds(2);

    /** 67 ms, and twice more. */
    private static final ConnectOptions IMPATIENT = new ConnectOptions()
            .timeout(14)
            .retryCount(2)
            .remoteAccess(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);

    /** How many objects of each kind a device has. */
    private static Map<String, Integer> objects(SoftDevice device) {
        Map<String, Integer> counts = new TreeMap<>();
        device.lock();
        try {
            device.queuePairs.forEach(each -> counts.merge("queue pairs", 1, Integer::sum));
            device.keys.forEach(each -> counts.merge(each.window ? "windows" : "regions", 1, Integer::sum));
            device.completionQueues.forEach(each -> counts.merge("completion queues", 1, Integer::sum));
            device.channels.forEach(each -> counts.merge("channels", 1, Integer::sum));
            device.sharedReceives.forEach(each -> counts.merge("shared receive queues", 1, Integer::sum));
            device.addressHandles.forEach(each -> counts.merge("address handles", 1, Integer::sum));
            device.protectionDomains.forEach(each -> counts.merge("protection domains", 1, Integer::sum));
        } finally {
            device.unlock();
        }
        return counts;
    }

    /** A side on one of two contexts of the device. */
    private static Side side(VerbsArena arena, Context context) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16);
        QueuePair pair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
        pair.localEndpoint(IMPATIENT);
        MemoryRegion region = domain.register(
                arena.allocate(64, 8), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
        return new Side(arena, domain, null, pair, region, SoftPair.LIMIT);
    }

    /** One of each kind that may be left, and that uses others. */
    private static void leaveOfEachKind(Context context) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        CompletionQueue queue = context.createCompletionQueue(16, context.createCompletionChannel(), 0);
        QueuePair shared = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                .sharedReceiveQueue(domain.createSharedReceiveQueue(new SharedReceiveQueueOptions())));
        assertTrue(shared.number() != 0);
        QueuePair member = domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, queue));
        member.localEndpoint();
        member.attachMulticast(GROUP, 0);
        domain.createAddressHandle(
                AddressVector.toGid(1, 0, context.queryGidTable().getFirst().gid()));
        domain.allocateMemoryWindow(MemoryWindowType.TYPE_1);
        domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldDestroyWhatAContextLeaves(boolean overTheWire) {
        System.setProperty("org.rdmapanama.soft.wire", Boolean.toString(overTheWire));
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context kept = Context.open(arena, SoftDevice.NAME);
            SoftDevice device = SoftDevice.contextAt(kept.nativeAddress()).device();
            Side a = side(arena, kept);
            // Never closed: the objects in it end with the device's context, which Java does not see.
            VerbsArena lost = VerbsArena.ofShared();
            ProviderContext leaving = PROVIDER.open(PROVIDER.devices().getFirst());
            Context left = Context.ofNativeAddress(lost, leaving.address(), Ownership.BORROWED);
            final Map<String, Integer> before = objects(device);
            Side b = side(lost, left);
            leaveOfEachKind(left);
            assertEquals(
                    7,
                    objects(device).keySet().size() - 1,
                    () -> objects(device).toString());
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(a.queuePair.localEndpoint());
            b.queuePair.postReceive(ReceiveWorkRequest.allocate(lost, 1).add(b.region, 0, 64));
            SendWorkRequest write = SendWorkRequest.allocate(arena, 1)
                    .signaled(true)
                    .rdmaWrite(b.region.address(), b.region.rkey())
                    .add(a.region, 0, Long.BYTES);
            a.region.memory().set(JAVA_LONG, 0, 17);
            assertEquals(CompletionStatus.SUCCESS, complete(a, write));
            assertEquals(17, b.region.memory().get(JAVA_LONG, 0));

            assertEquals(0, leaving.close());
            assertEquals(before, objects(device));
            a.region.memory().set(JAVA_LONG, 0, 18);
            assertEquals(CompletionStatus.RETRY_EXC_ERR, complete(a, write));
            assertEquals(17, b.region.memory().get(JAVA_LONG, 0));
        } finally {
            System.clearProperty("org.rdmapanama.soft.wire");
        }
    }

    private static CompletionStatus complete(Side side, SendWorkRequest request) {
        side.post(request);
        return side.await().status();
    }

    /** Of a queue that overran; closing gives what is posted two seconds to complete. */
    @Test
    void shouldNotWaitForCompletionsThatAreLost() {
        VerbsArena arena = VerbsArena.ofConfined();
        Context context = Context.open(arena, SoftDevice.NAME);
        ProtectionDomain domain = context.allocateProtectionDomain();
        QueuePair pair = domain.createQueuePair(
                new QueuePairOptions(QueuePairType.RC, context.createCompletionQueue(2)).maxReceiveWorkRequests(32));
        // With itself.
        pair.connect(pair.localEndpoint(IMPATIENT));
        MemoryRegion region = domain.register(arena.allocate(64), AccessFlag.LOCAL_WRITE);
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(arena, 1).add(region, 0, 64);
        for (int i = 0; i < 20; i++) {
            pair.postReceive(receive);
        }
        Bound bound = Bound.of(DRAIN);
        arena.close();
        bound.check("closing does not wait for what is lost");
    }

    /** While the device's thread is about to write there, or has begun. */
    @Test
    void shouldNotTouchMemoryThatIsDeregistered() throws Exception {
        for (int round = 0; round < 20; round++) {
            try (SoftPair pair = new SoftPair(QueuePairType.RC, IMPATIENT, "wire", "true")) {
                int half = SoftPair.BYTES / 2;
                pair.memory.asSlice(0, half).fill((byte) 1);
                MemorySegment target = pair.memory.asSlice(half);
                MemoryRegion region = pair.domain.register(target, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
                pair.a.postSend(pair.request()
                        .rdmaWrite(region.address(), region.rkey())
                        .add(pair.region, 0, half));
                if (round % 2 == 0) {
                    awaitFirstByte(target);
                }
                region.close();
                target.fill(MARK);
                Thread.sleep(5);
                for (int i = 0; i < half; i += 512) {
                    assertEquals(MARK, target.get(JAVA_BYTE, i));
                }
            }
        }
    }

    private static void awaitFirstByte(MemorySegment memory) {
        Bound.of(SoftPair.LIMIT).spin("nothing comes", () -> memory.get(JAVA_BYTE, 0) != 0);
    }
}
