package org.rdmapanama.internal.libibverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_device;
import org.rdmapanama.internal.provider.NoRdmaException;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderDevice;
import org.rdmapanama.internal.provider.ProviderException;

/** The devices of libibverbs. */
public final class NativeProvider extends Provider {
    private static final String LIST = "ibv_get_device_list";

    /** The kernel's directory of devices, once the module is loaded. */
    private static final Path CLASS = Path.of("/sys/class/infiniband_verbs");

    private static final Path DEVICE_FILES = Path.of("/dev/infiniband");

    /** Returns whether libibverbs can be used; without it {@link #devices()} fails. */
    public static boolean isAvailable() {
        return NativeLibrary.IBVERBS.isAvailable();
    }

    @Override
    public List<ProviderDevice> devices() {
        try (DeviceArray array = new DeviceArray()) {
            List<ProviderDevice> devices = new ArrayList<>();
            for (long address : array.addresses) {
                devices.add(describe(address));
            }
            if (devices.isEmpty()) {
                requireNoDeviceFiles();
            }
            return devices;
        }
    }

    /**
     * Throws if there are devices that libibverbs does not list: it has no driver for them, or could not load the
     * drivers in its only attempt.
     */
    private static void requireNoDeviceFiles() {
        String[] kernel = devicesOfKernel();
        if (kernel.length > 0) {
            throw new ProviderException(
                    LIST,
                    Errno.ENODEV,
                    "libibverbs has loaded no driver for " + String.join(", ", kernel)
                            + "; install 'ibverbs-providers' and start this program again");
        }
    }

    /** Returns the devices that have device files here. */
    private static String[] devicesOfKernel() {
        String[] names = CLASS.toFile().list((folder, name) -> Files.exists(DEVICE_FILES.resolve(name)));
        return names == null ? new String[0] : names;
    }

    @Override
    public ProviderContext open(ProviderDevice device) {
        try (DeviceArray array = new DeviceArray()) {
            for (long address : array.addresses) {
                if (describe(address).name().equals(device.name())) {
                    long context = Libibverbs.openDevice(address);
                    if (context < 0) {
                        throw cannotOpen(device, (int) -context);
                    }
                    return opened(context);
                }
            }
        }
        throw new ProviderException("ibv_open_device", Errno.ENODEV, "the device " + device.name() + " is gone");
    }

    @Override
    public ProviderContext at(long context) {
        return new NativeContext(context);
    }

    /**
     * ibv_import_device.
     *
     * @param commandFd a descriptor of this process for the command channel of a context that another process opened
     * @return the open device
     * @throws ProviderException when it cannot be imported
     */
    public static ProviderContext importDevice(int commandFd) {
        long context = Libibverbs.importDevice(commandFd);
        if (context < 0) {
            throw new ProviderException("ibv_import_device", (int) -context, null);
        }
        return opened(context);
    }

    /**
     * Returns an object for an open context, or closes it, because a context without an object would never be closed.
     */
    private static ProviderContext opened(long context) {
        try {
            return new NativeContext(context);
        } catch (Throwable e) {
            Libibverbs.closeDevice(context);
            throw e;
        }
    }

    /**
     * Returns the name of the device that a context belongs to.
     *
     * @param context address of the struct ibv_context
     * @return its kernel name
     */
    public static String deviceNameOf(long context) {
        MemorySegment device = ibv_context.device(Structs.at(context, ibv_context.layout()));
        return ibv_device
                .name(Structs.at(device.address(), ibv_device.layout()))
                .getString(0);
    }

    /** ibv_fork_init: zero or a negated errno. */
    public static int initializeFork() {
        return Libibverbs.forkInit();
    }

    /** ibv_is_fork_initialized: an enum ibv_fork_status. */
    public static int forkStatus() {
        return Libibverbs.isForkInitialized();
    }

    private static ProviderException cannotOpen(ProviderDevice device, int reported) {
        Path file = Path.of("/dev/infiniband", device.deviceFile());
        // If libibverbs may not open the file, it searches /dev/char, and reports the failure of that.
        boolean denied = Files.exists(file) && !(Files.isReadable(file) && Files.isWritable(file));
        int errno = reported == Errno.ENOENT && denied ? Errno.EACCES : reported;
        String cure = switch (errno) {
            case Errno.EACCES, Errno.EPERM ->
                "this user may not open " + file
                        + "; grant read and write permission to it (the rdma-core package has udev rules)";
            case Errno.EMFILE -> FreeDescriptors.CURE;
            case Errno.ENOENT ->
                file + " does not exist; load the kernel module ib_uverbs, or, in a container,"
                        + " pass the device file in";
            default -> null;
        };
        return new ProviderException("ibv_open_device", errno, cure);
    }

    private ProviderDevice describe(long address) {
        MemorySegment device = Structs.at(address, ibv_device.layout());
        return new ProviderDevice(
                this,
                ibv_device.name(device).getString(0),
                ibv_device.node_type(device),
                ibv_device.transport_type(device),
                fromNetworkOrder(DeviceFunctions.getDeviceGuid(address)),
                deviceIndex(address),
                ibv_device.dev_name(device).getString(0));
    }

    private static int deviceIndex(long address) {
        return DeviceFunctions.getDeviceIndex(address);
    }

    private static long fromNetworkOrder(long value) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Long.reverseBytes(value);
    }

    /** The NULL-terminated array of ibv_get_device_list, freed when closed. */
    private static final class DeviceArray implements AutoCloseable {
        private final long list;
        final long[] addresses;

        DeviceArray() {
            // Libibverbs loads its drivers only once, with the first list.
            if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
                throw tooManyFiles();
            }
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment count = arena.allocate(JAVA_INT);
                list = DeviceFunctions.getDeviceList(count.address());
                if (list < 0) {
                    throw noList((int) -list);
                }
                addresses = Structs.at(list, count.get(JAVA_INT, 0) * JAVA_LONG.byteSize())
                        .toArray(JAVA_LONG);
            } catch (UnsatisfiedLinkError e) {
                if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
                    throw tooManyFiles();
                }
                throw cannotLoad(e.getMessage());
            }
        }

        /**
         * If libibverbs is not installed there is no RDMA, unless the kernel has a device for this process: then its
         * use is expected, and silently choosing another device would be a surprise.
         */
        private static ProviderException cannotLoad(String why) {
            String[] kernel = devicesOfKernel();
            if (kernel.length > 0) {
                return new ProviderException(
                        LIST, Errno.ENOSYS, "the kernel has " + String.join(", ", kernel) + ", but " + why);
            }
            return NativeLibrary.IBVERBS.isAbsent()
                    ? new NoRdmaException(LIST, Errno.ENOSYS, why)
                    : new ProviderException(LIST, Errno.ENOSYS, why);
        }

        private static ProviderException tooManyFiles() {
            return new ProviderException(LIST, Errno.EMFILE, FreeDescriptors.CURE);
        }

        /** libibverbs reports ENOSYS whenever it cannot read the kernel's devices. */
        private static ProviderException noList(int errno) {
            if (FreeDescriptors.reason(-errno, FreeDescriptors.FEW) == -Errno.EMFILE) {
                return tooManyFiles();
            }
            if (errno != Errno.ENOSYS) {
                return new ProviderException(LIST, errno, null);
            }
            if (Files.notExists(CLASS)) {
                return new NoRdmaException(LIST, errno, "the kernel has no RDMA subsystem; load the module ib_uverbs");
            }
            return new ProviderException(
                    LIST, errno, CLASS + " cannot be read, or the kernel's interface does not match libibverbs");
        }

        @Override
        public void close() {
            DeviceFunctions.freeDeviceList(list);
        }
    }
}
