package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * The devices that the connection manager knows; see rdma_get_devices(3).
 *
 * <p>librdmacm opens a device when an id is bound to it, or when it lists the devices, and keeps it open, for the next id,
 * until the process ends. Some drivers, Soft-RoCE's and Software iWARP's among them, make who removes a device wait until
 * nobody has it open. Only while it lists them does librdmacm look which are gone, and closes those, each once no id is
 * bound to it. {@link EventChannel} has it do so when a {@link CmEventType#DEVICE_REMOVAL} comes; who has no id that the
 * event could come to calls {@link #names}.
 *
 * <p>Threads: any.
 */
public final class RdmaDevices {
    private RdmaDevices() {}

    /**
     * Which devices there are at this moment. librdmacm opens those that it has not opened yet, and closes those that are
     * gone.
     *
     * @return their names, such as {@code rxe0}; all that can be opened
     * @throws ConnectionException when there are none, or the kernel does not tell
     * @throws UnsatisfiedLinkError when librdmacm is not installed, naming the package that has it
     * @verb rdma_get_devices
     * @verb rdma_free_devices
     */
    public static List<String> names() {
        ConnectionManager manager = ConnectionManagers.preferred();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = manager.getDevices(count.address());
            if (list < 0) {
                throw Failures.of("rdma_get_devices", (int) list, "");
            }
            try {
                return names(Native.struct(list, count.get(JAVA_INT, 0) * JAVA_LONG.byteSize()));
            } finally {
                manager.freeDevices(list);
            }
        }
    }

    private static List<String> names(MemorySegment contexts) {
        List<String> names = new ArrayList<>();
        for (long offset = 0; offset < contexts.byteSize(); offset += JAVA_LONG.byteSize()) {
            MemorySegment context = Native.struct(contexts.get(JAVA_LONG, offset), ibv_context.sizeof());
            names.add(name(ibv_context.device(context)));
        }
        return List.copyOf(names);
    }

    /** The name of a native device. */
    static String name(MemorySegment device) {
        return ibv_device
                .name(Native.struct(device.address(), ibv_device.sizeof()))
                .getString(0);
    }

    /** Has the library close devices that are gone. */
    static void letGoOfRemoved(ConnectionManager manager) {
        long list = manager.getDevices(0);
        // It fails where the last device is gone: then it has not looked.
        if (list > 0) {
            manager.freeDevices(list);
        }
    }
}
