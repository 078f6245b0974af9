package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaClient;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.cm.RdmaConnectionOptions;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.PrivateData;
import org.rdmapanama.nvme.wire.Property;
import org.rdmapanama.nvme.wire.Response;

/** A host of one queue that sends what it is told, right or wrong. */
final class RawHost implements AutoCloseable {
    static final int ENTRIES = 32;
    static final int DATA = 256 * 1024;
    private static final int CAPSULE = 16 * 1024;

    final RdmaConnection connection;
    final MemoryRegion data;
    final MemorySegment capsule;
    final MemorySegment response;
    private final MemoryRegion memory;
    private final SendWorkRequest send;
    private final ReceiveWorkRequest receive;
    private final WorkCompletions completions;

    RawHost(VerbsArena arena, InetSocketAddress address, int queue, int controller) throws InterruptedException {
        this(arena, address, new PrivateData.Request(queue, ENTRIES, ENTRIES - 1, controller).bytes());
    }

    RawHost(VerbsArena arena, InetSocketAddress address, byte[] privateData) throws InterruptedException {
        connection = new RdmaClient(arena)
                .connect(
                        address,
                        new RdmaConnectionOptions()
                                .singleCompletionQueue(true)
                                .completionEvents(true)
                                .privateData(privateData),
                        Duration.ofSeconds(10));
        memory = connection.register(CAPSULE + Response.BYTES, AccessFlag.LOCAL_WRITE);
        data = connection.register(DATA, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE);
        capsule = memory.memory().asSlice(0, CAPSULE);
        response = memory.memory().asSlice(CAPSULE, Response.BYTES);
        send = SendWorkRequest.allocate(connection.queuePair(), 1);
        receive = ReceiveWorkRequest.allocate(connection.queuePair(), 1).id(1).add(memory, CAPSULE, Response.BYTES);
        completions = new WorkCompletions(connection.sendQueue(), 8);
        connection.queuePair().postReceive(receive);
    }

    /** Sends a capsule, and returns whether a response came; otherwise the connection has ended, or the time is over. */
    boolean exchange(int length, Duration limit) throws InterruptedException {
        connection
                .queuePair()
                .postSend(send.clear().send().add(memory, 0, length).signaled(true));
        long start = System.nanoTime();
        while (System.nanoTime() - start < limit.toNanos()) {
            int count = connection.sendQueue().await(completions, Duration.ofMillis(20));
            boolean responded = false;
            for (int i = 0; i < count; i++) {
                if (!completions.succeeded(i)) {
                    return false;
                }
                responded |= completions.opcode(i) == CompletionOpcode.RECV;
            }
            if (responded) {
                connection.queuePair().postReceive(receive);
                return true;
            }
            if (count == 0 && !connection.isConnected()) {
                return false;
            }
        }
        return false;
    }

    NvmeStatus execute(int length) throws InterruptedException {
        if (!exchange(length, Duration.ofSeconds(10))) {
            throw new IllegalStateException("there is no response");
        }
        return NvmeStatus.of(Response.status(response));
    }

    NvmeStatus connect(int queue, int controller, int keepAliveMillis) throws InterruptedException {
        Command.beginFabrics(capsule, Opcode.CONNECT, 5);
        Command.connect(capsule, queue, ENTRIES - 1, keepAliveMillis);
        Command.inCapsule(capsule, 0, ConnectData.BYTES);
        ConnectData.write(
                capsule.asSlice(Command.BYTES), new byte[16], controller, Disk.NAME, "nqn.2026-01.org.example:raw");
        return execute(Command.BYTES + ConnectData.BYTES);
    }

    /** Connects an Admin queue, enables the controller, and returns its id. */
    int start(int keepAliveMillis) throws InterruptedException {
        NvmeStatus connected = connect(0, ConnectData.ANY_CONTROLLER, keepAliveMillis);
        if (!connected.isSuccess()) {
            throw new NvmeException("Connect", connected);
        }
        int id = (int) Response.result(response) & 0xffff;
        Command.beginFabrics(capsule, Opcode.PROPERTY_SET, 6);
        Command.property(capsule, Property.CC, false, Property.ENTRY_SIZES | Property.ENABLE);
        execute(Command.BYTES);
        return id;
    }

    @Override
    public void close() {
        connection.close();
    }
}
