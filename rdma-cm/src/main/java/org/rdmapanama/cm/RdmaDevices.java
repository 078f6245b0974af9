package org.rdmapanama.cm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.internal.provider.ConnectionManager;

/**
 * Lists the devices that the connection manager knows; see rdma_get_devices(3).
 *
 * <p>librdmacm opens a device when an id is bound to it or when it lists the devices, and keeps it open until the
 * process ends. Some drivers, including Soft-RoCE and Software iWARP, make the process that removes a device wait until
 * every process has closed it. librdmacm notices and closes removed devices only while it lists them, each as soon as
 * no id is bound to it. {@link EventChannel} lists them on every {@link CmEventType#DEVICE_REMOVAL}; a program without
 * an id on the device, which gets no such event, should call {@link #names}. The same applies to the devices that
 * {@link RdmaClient} and {@link RdmaServer} opened in an arena: they are closed after their last connection.
 *
 * <p>Threads: any.
 */
public final class RdmaDevices {
    /** Whether an attempt to make librdmacm close removed devices failed and must be repeated. */
    private static volatile boolean owed;

    /** Listing the devices takes long, and every thread that waits for an event retries it. */
    private static final long PAUSE_NANOS = 100_000_000;

    /** When it looked last, by {@link System#nanoTime}. */
    private static final AtomicLong LOOKED = new AtomicLong();

    private RdmaDevices() {}

    /**
     * Returns the names of the devices that are present now. librdmacm opens new devices and closes removed ones; the
     * arenas of clients and servers close removed ones as well.
     *
     * @return the names of all devices that can be opened, such as {@code rxe0}
     * @throws ConnectionException when there are no devices, the kernel does not list them, or the process has too few
     *     free file descriptors to open them (EMFILE): librdmacm would consider devices that it cannot open dead
     * @throws UnsatisfiedLinkError when librdmacm is not installed; the message names the package that contains it
     * @verb rdma_get_devices
     * @verb rdma_free_devices
     */
    public static List<String> names() {
        ConnectionManager manager = ConnectionManagers.preferred();
        try (Arena arena = KnownMemory.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = manager.getDevices(count.address());
            if (list < 0) {
                throw CmFailures.of("rdma_get_devices", (int) list, "");
            }
            List<String> names = new ArrayList<>();
            try {
                Set<Long> devices = devices(Native.struct(list, count.get(JAVA_INT, 0) * JAVA_LONG.byteSize()));
                devices.forEach(device -> names.add(name(MemorySegment.ofAddress(device))));
                Devices.keepOnly(devices);
            } finally {
                manager.freeDevices(list);
            }
            Devices.closeAllRemoved();
            return List.copyOf(names);
        }
    }

    /** Returns the struct ibv_device of each context, in order. */
    private static Set<Long> devices(MemorySegment contexts) {
        Set<Long> devices = new LinkedHashSet<>();
        for (long offset = 0; offset < contexts.byteSize(); offset += JAVA_LONG.byteSize()) {
            MemorySegment context = Native.struct(contexts.get(JAVA_LONG, offset), ibv_context.sizeof());
            devices.add(ibv_context.device(context).address());
        }
        return devices;
    }

    /** Returns the name of a native device. */
    static String name(MemorySegment device) {
        return ibv_device
                .name(Native.struct(device.address(), ibv_device.sizeof()))
                .getString(0);
    }

    /** Makes librdmacm close removed devices. */
    static void letGoOfRemoved(ConnectionManager manager) {
        LOOKED.set(System.nanoTime());
        long list = manager.getDevices(0);
        if (list > 0) {
            manager.freeDevices(list);
        }
        // ENODEV: without any device it does not check, and would not check the next time.
        owed = list < 0 && list != -Errno.ENODEV;
    }

    /** Returns for how many nanoseconds at most a thread may sleep that calls {@link #letGoOfOwed} when it wakes up. */
    static long untilOwed() {
        return owed ? PAUSE_NANOS : Long.MAX_VALUE;
    }

    /** Repeats {@link #letGoOfRemoved} if it failed before, for example because too many files were open. */
    static void letGoOfOwed(ConnectionManager manager) {
        if (!owed) {
            return;
        }
        long last = LOOKED.get();
        long now = System.nanoTime();
        if (now - last >= PAUSE_NANOS && LOOKED.compareAndSet(last, now)) {
            letGoOfRemoved(manager);
        }
    }
}
