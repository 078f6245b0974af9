package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.cm.RejectedException;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.PrivateData;
import org.rdmapanama.nvme.wire.Response;
import org.rdmapanama.testing.Async;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.FillPattern;

/** Hosts that send what they must not: the target answers or ends their connection, and other hosts notice nothing. */
@Tag("lab")
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostileHostLabTest {
    private static final int CAPSULES = Integer.getInteger("hostile.capsules", 4000);
    private static final int BLOCK = 512;
    private static final int BLOCKS = 1024;
    private static final int GUARD = 1 << 20;

    /** The namespace of the host that behaves, which the others do not name. */
    private static final int OTHERS = 999;

    private final MemorySegment whole = Arena.ofAuto().allocate(2L * GUARD + BLOCKS * BLOCK, 4096);
    private final NvmeBacking attacked = NvmeBacking.ofMemory(whole.asSlice(GUARD, BLOCKS * BLOCK));
    private final NvmeBacking other = NvmeBacking.ofMemory(BLOCKS * BLOCK);

    private Disk disk() {
        MemorySegment before = whole.asSlice(0, GUARD);
        MemorySegment after = whole.asSlice(GUARD + BLOCKS * BLOCK, GUARD);
        FillPattern.fill(before, 1);
        FillPattern.fill(after, 2);
        return new Disk(
                new NvmeTargetOptions(Disk.NAME).namespace(1, BLOCK, attacked).namespace(OTHERS, BLOCK, other),
                attacked);
    }

    private void assertNothingOutsideWasWritten() {
        FillPattern.assertFilled(whole.asSlice(0, GUARD), 1);
        FillPattern.assertFilled(whole.asSlice(GUARD + BLOCKS * BLOCK, GUARD), 2);
    }

    /** Writes a command that is right, and returns the length of its capsule. */
    private static int valid(Random random, RawHost host, boolean admin) {
        MemorySegment entry = host.capsule;
        int id = random.nextInt(0x10000);
        if (admin) {
            int[] opcodes = {
                Opcode.IDENTIFY,
                Opcode.GET_LOG_PAGE,
                Opcode.SET_FEATURES,
                Opcode.GET_FEATURES,
                Opcode.KEEP_ALIVE,
                Opcode.ABORT,
                Opcode.FABRICS
            };
            int opcode = opcodes[random.nextInt(opcodes.length)];
            Command.begin(entry, opcode, id, opcode == Opcode.IDENTIFY ? random.nextInt(3) : 0);
            Command.keyed(entry, host.data.address(), 4096, host.data.rkey(), Command.KEYED);
            switch (opcode) {
                case Opcode.IDENTIFY -> Command.dword(entry, 10, random.nextInt(7));
                case Opcode.ABORT -> Command.dword(entry, 10, random.nextInt(3) | random.nextInt(0x10000) << 16);
                case Opcode.GET_LOG_PAGE -> Command.dword(entry, 10, random.nextInt(6) | 1023 << 16);
                case Opcode.FABRICS -> {
                    Command.beginFabrics(entry, Opcode.PROPERTY_GET, id);
                    Command.property(entry, random.nextInt(0x20), random.nextBoolean(), 0);
                }
                default -> {
                    int[] features = {6, 7, 0xb, 0xf};
                    Command.dword(entry, 10, features[random.nextInt(features.length)]);
                    Command.dword(entry, 11, 60_000);
                }
            }
            return Command.BYTES;
        }
        int[] opcodes = {
            Opcode.READ,
            Opcode.WRITE,
            Opcode.COMPARE,
            Opcode.WRITE_ZEROES,
            Opcode.FLUSH,
            Opcode.DATASET_MANAGEMENT,
            Opcode.WRITE
        };
        int opcode = opcodes[random.nextInt(opcodes.length)];
        Command.begin(entry, opcode, id, 1);
        int blocks = 1 + random.nextInt(8);
        Command.blocks(entry, random.nextInt(BLOCKS - 8), blocks);
        int bytes = blocks * BLOCK;
        if (opcode == Opcode.DATASET_MANAGEMENT) {
            int ranges = 1 + random.nextInt(16);
            Command.dword(entry, 10, ranges - 1);
            Command.dword(entry, 11, 4);
            bytes = ranges * 16;
        }
        if (opcode != Opcode.READ && random.nextBoolean()) {
            Command.inCapsule(entry, 0, bytes);
            for (int i = 0; i < bytes; i++) {
                Fields.set8(entry, Command.BYTES + (long) i, random.nextInt(4));
            }
            return Command.BYTES + bytes;
        }
        Command.keyed(entry, host.data.address(), bytes, host.data.rkey(), Command.KEYED);
        return Command.BYTES;
    }

    private static final long[] INTERESTING = {
        0,
        1,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0x8000,
        0xffff,
        0xffffff,
        0x7fffffffL,
        0x80000000L,
        0xffffffffL,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        -1L,
        BLOCKS,
        BLOCKS - 1,
        BLOCKS - 8
    };

    private static int mutate(Random random, MemorySegment entry, int length) {
        int changes = 1 + random.nextInt(3);
        for (int i = 0; i < changes; i++) {
            int at = random.nextInt(Command.BYTES);
            switch (random.nextInt(4)) {
                case 0 -> Fields.set8(entry, at, random.nextInt(256));
                case 1 -> Fields.set8(entry, at, Fields.get8(entry, at) ^ 1 << random.nextInt(8));
                case 2 -> {
                    int place = at & ~3;
                    Fields.set32(entry, place, (int) INTERESTING[random.nextInt(INTERESTING.length)]);
                }
                default -> {
                    int place = at & ~7;
                    Fields.set64(entry, place, INTERESTING[random.nextInt(INTERESTING.length)]);
                }
            }
        }
        return random.nextInt(20) == 0 ? 1 + random.nextInt(6000) : length;
    }

    @Test
    void shouldSurviveMutatedCommands() throws Exception {
        long seed = Long.getLong("hostile.seed", 20);
        Random random = new Random(seed);
        AtomicBoolean over = new AtomicBoolean();
        int answered = 0;
        int ended = 0;
        try (Disk disk = disk();
                NvmeController good = disk.connect(Disk.options().keepAlive(Duration.ofSeconds(2)));
                VerbsArena arena = VerbsArena.ofShared()) {
            CompletableFuture<Integer> behaving = Async.start(() -> {
                NvmeNamespace namespace = good.namespaces().getLast();
                assertEquals(OTHERS, namespace.id());
                MemorySegment memory = good.allocate(64 * 1024).memory();
                int rounds = 0;
                while (!over.get()) {
                    FillPattern.fill(memory.asSlice(0, 4096), rounds);
                    namespace.write(rounds % 100, memory.asSlice(0, 4096));
                    namespace.read(rounds % 100, memory.asSlice(4096, 4096));
                    FillPattern.assertFilled(memory.asSlice(4096, 4096), rounds);
                    rounds++;
                }
                return rounds;
            });
            RawHost admin = null;
            RawHost io = null;
            for (int i = 0; i < CAPSULES; i++) {
                if (admin == null || !admin.connection.isConnected() || io == null || !io.connection.isConnected()) {
                    if (admin != null) {
                        admin.close();
                    }
                    if (io != null) {
                        io.close();
                    }
                    admin = new RawHost(arena, disk.address(), 0, 0);
                    int id = admin.start(0);
                    io = new RawHost(arena, disk.address(), 1, id);
                    assertTrue(io.connect(1, id, 0).isSuccess());
                }
                boolean asAdmin = random.nextInt(3) == 0;
                RawHost host = asAdmin ? admin : io;
                int length = mutate(random, host.capsule, valid(random, host, asAdmin));
                if (Command.namespace(host.capsule) == OTHERS) {
                    continue;
                }
                int opcode = Command.opcode(host.capsule);
                boolean mayWait = asAdmin && opcode == Opcode.ASYNC_EVENT_REQUEST;
                String what = "seed " + seed + ", capsule " + i + " of " + length + " bytes: "
                        + Opcode.name(asAdmin, opcode, Command.fabricsType(host.capsule));
                int sent = Command.id(host.capsule);
                if (host.exchange(length, mayWait ? Duration.ofMillis(50) : Duration.ofSeconds(10))) {
                    answered++;
                    if (length >= Command.BYTES) {
                        assertEquals(sent, Response.id(host.response), what);
                    }
                } else if (mayWait) {
                    admin.close();
                } else {
                    RawHost gone = host;
                    Bound.usual()
                            .await(
                                    "no response, and no end: " + what,
                                    () -> !gone.connection.isConnected()
                                            || gone.connection.failure().isPresent());
                    ended++;
                }
            }
            over.set(true);
            assertTrue(Async.get(behaving) > 0);
            assertTrue(good.isConnected());
            if (admin != null) {
                admin.close();
                io.close();
            }
            Bound.usual().await("a controller stays", () -> disk.target.controllers() == 1);
        }
        assertNothingOutsideWasWritten();
        System.out.println(answered + " capsules were answered, and " + ended + " ended their connection");
        assertTrue(answered > CAPSULES / 2 && ended > 0);
    }

    @Test
    void shouldAnswerWithTheStatusThatTheSpecificationNames() throws Exception {
        try (Disk disk = disk();
                VerbsArena arena = VerbsArena.ofShared();
                RawHost admin = new RawHost(arena, disk.address(), 0, 0)) {
            // Before Connect there is nothing else.
            Command.begin(admin.capsule, Opcode.IDENTIFY, 1, 0);
            assertEquals(NvmeStatus.SEQUENCE_ERROR, admin.execute(Command.BYTES));
            assertEquals(NvmeStatus.CONNECT_INVALID_PARAMETERS, admin.connect(1, 0xffff, 0));
            assertEquals(NvmeStatus.CONNECT_INVALID_PARAMETERS, admin.connect(0, 17, 0));
            int id = admin.start(0);
            assertEquals(NvmeStatus.SEQUENCE_ERROR, admin.connect(0, 0xffff, 0));
            try (RawHost io = new RawHost(arena, disk.address(), 1, id)) {
                assertEquals(NvmeStatus.CONNECT_INVALID_PARAMETERS, io.connect(1, id + 1, 0));
                assertTrue(io.connect(1, id, 0).isSuccess());
                Command.begin(io.capsule, Opcode.READ, 1, 1);
                Command.blocks(io.capsule, 0, 2);
                Command.keyed(io.capsule, io.data.address(), BLOCK, io.data.rkey(), Command.KEYED);
                assertEquals(NvmeStatus.INVALID_DATA_LENGTH, io.execute(Command.BYTES));
                Command.keyed(io.capsule, io.data.address(), 2 * BLOCK, io.data.rkey(), 0x20);
                assertEquals(NvmeStatus.INVALID_DESCRIPTOR_TYPE, io.execute(Command.BYTES));
                Command.inCapsule(io.capsule, 0, 2 * BLOCK);
                assertEquals(NvmeStatus.INVALID_FIELD, io.execute(Command.BYTES + 2 * BLOCK));
                Command.begin(io.capsule, Opcode.WRITE, 1, 1);
                Command.blocks(io.capsule, 0, 2);
                Command.inCapsule(io.capsule, 16, 2 * BLOCK);
                assertEquals(NvmeStatus.INVALID_CAPSULE_OFFSET, io.execute(Command.BYTES + 2 * BLOCK));
                assertEquals(NvmeStatus.SUCCESS, io.execute(Command.BYTES + 16 + 2 * BLOCK));
                Command.inCapsule(io.capsule, -1, 2 * BLOCK);
                assertEquals(NvmeStatus.INVALID_CAPSULE_OFFSET, io.execute(Command.BYTES + 2 * BLOCK));
                Command.begin(io.capsule, Opcode.READ, 1, 2);
                assertEquals(NvmeStatus.INVALID_NAMESPACE, io.execute(Command.BYTES));
                Command.begin(io.capsule, 0x55, 1, 1);
                assertEquals(NvmeStatus.INVALID_OPCODE, io.execute(Command.BYTES));
                Command.begin(io.capsule, Opcode.FLUSH, 1, 1);
                Fields.set8(io.capsule, 1, 0);
                assertEquals(NvmeStatus.INVALID_FIELD, io.execute(Command.BYTES));
            }
            // A capsule that is too short for a command ends the connection.
            assertFalse(admin.exchange(Command.BYTES - 1, Duration.ofSeconds(10)));
            Bound.usual().await("the controller stays", () -> disk.target.controllers() == 0);
        }
    }

    @Test
    void shouldRejectRequestsThatAreWrong() throws Exception {
        try (Disk disk = disk();
                VerbsArena arena = VerbsArena.ofShared()) {
            assertReason(PrivateData.INVALID_QUEUE, arena, disk, new PrivateData.Request(17, 32, 31, 1));
            assertReason(PrivateData.INVALID_SEND_SIZE, arena, disk, new PrivateData.Request(0, 64, 63, 0));
            assertReason(PrivateData.INVALID_SEND_SIZE, arena, disk, new PrivateData.Request(1, 1, 0, 1));
            assertReason(PrivateData.INVALID_SEND_SIZE, arena, disk, new PrivateData.Request(1, 65535, 65535, 1));
            assertReason(PrivateData.INVALID_RECEIVE_SIZE, arena, disk, new PrivateData.Request(0, 0, 31, 0));
            byte[] format = new PrivateData.Request(0, 32, 31, 0).bytes();
            format[0] = 1;
            RejectedException e =
                    assertThrows(RejectedException.class, () -> new RawHost(arena, disk.address(), format).close());
            assertEquals(PrivateData.INVALID_FORMAT, e.privateData()[2]);
            disk.connect().close();
        }
    }

    private static void assertReason(int reason, VerbsArena arena, Disk disk, PrivateData.Request request) {
        RejectedException e = assertThrows(
                RejectedException.class, () -> new RawHost(arena, disk.address(), request.bytes()).close());
        assertEquals(reason, MemorySegment.ofArray(e.privateData()).get(ValueLayout.JAVA_BYTE, 2));
    }

    @Test
    void shouldNotDeallocateForHours() throws Exception {
        int blocks = 1 << 18;
        NvmeBacking large = NvmeBacking.ofMemory((long) blocks * BLOCK);
        try (Disk disk = new Disk(large, BLOCK);
                VerbsArena arena = VerbsArena.ofShared();
                RawHost admin = new RawHost(arena, disk.address(), 0, 0)) {
            int id = admin.start(0);
            try (RawHost io = new RawHost(arena, disk.address(), 1, id)) {
                assertTrue(io.connect(1, id, 0).isSuccess());
                Command.begin(io.capsule, Opcode.DATASET_MANAGEMENT, 1, 1);
                Command.dword(io.capsule, 10, 255);
                Command.dword(io.capsule, 11, 4);
                Command.inCapsule(io.capsule, 0, 256 * 16);
                for (int i = 0; i < 256; i++) {
                    Fields.set32(io.capsule, Command.BYTES + 16L * i + 4, blocks);
                    Fields.set64(io.capsule, Command.BYTES + 16L * i + 8, 0);
                }
                // 256 times 128 MiB take longer.
                assertTrue(io.exchange(Command.BYTES + 256 * 16, Duration.ofSeconds(2)));
                assertEquals(0, Response.status(io.response));
            }
        }
    }

    @Test
    void shouldFindRoomBesideConnectionsWithoutConnect() throws Exception {
        NvmeTargetOptions served =
                new NvmeTargetOptions(Disk.NAME).namespace(1, BLOCK, other).maxQueues(8);
        try (Disk disk = new Disk(served, other);
                VerbsArena arena = VerbsArena.ofShared()) {
            List<RawHost> idle = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                try {
                    idle.add(new RawHost(arena, disk.address(), 0, 0));
                } catch (RejectedException full) {
                    // There may be no room for this one.
                }
            }
            Thread.sleep(200);
            try (NvmeController controller = disk.connect()) {
                controller.namespaces().getFirst().flush();
            }
            idle.forEach(RawHost::close);
        }
    }

    @Test
    void shouldEndHostsThatAreSilent() throws Exception {
        try (Disk disk = disk();
                NvmeController good = disk.connect(Disk.options().keepAlive(Duration.ofMillis(200)));
                VerbsArena arena = VerbsArena.ofShared();
                RawHost silent = new RawHost(arena, disk.address(), 0, 0)) {
            silent.start(100);
            assertEquals(2, disk.target.controllers());
            Bound.usual().await("the silent host stays", () -> disk.target.controllers() == 1);
            Bound.usual().await("the connection stays", () -> !silent.connection.isConnected());
            // Longer than its time, too.
            Thread.sleep(1500);
            assertTrue(good.isConnected());
            assertEquals(1, disk.target.controllers());
        }
    }
}
