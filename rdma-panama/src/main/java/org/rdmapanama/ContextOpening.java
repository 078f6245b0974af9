package org.rdmapanama;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.ManagementStart;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.Observed;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.ProviderException;

/** Where contexts come from: opens devices, wraps native contexts, and imports those of other processes. */
final class ContextOpening {
    private ContextOpening() {}

    static Context open(VerbsArena arena, Device device) {
        Provider provider = device.providerDevice().provider();
        return open(arena, device, () -> provider.open(device.providerDevice()));
    }

    static Context wrap(VerbsArena arena, long nativeAddress, Ownership ownership) {
        if (nativeAddress == 0) {
            throw new IllegalArgumentException("nativeAddress must not be 0");
        }
        Objects.requireNonNull(arena, "arena");
        Objects.requireNonNull(ownership, "ownership");
        arena.lock().lock();
        try {
            arena.requireNoContextAt(nativeAddress);
            String name = NativeProvider.deviceNameOf(nativeAddress);
            Device device = DeviceList.query().byName(name);
            Provider provider = device.providerDevice().provider();
            return open(
                    arena, device, () -> provider.at(nativeAddress), opened -> add(arena, opened, device, ownership));
        } finally {
            arena.lock().unlock();
        }
    }

    static Context importFrom(VerbsArena arena, int fileDescriptor) {
        Objects.requireNonNull(arena, "arena");
        Device device = deviceOf(fileDescriptor);
        try {
            return open(arena, device, () -> NativeProvider.importDevice(fileDescriptor));
        } catch (VerbsException e) {
            if (e.errno() == Errno.EOPNOTSUPP || e.errno() == Errno.ENOSYS) {
                throw new UnsupportedVerbException(
                        e.verb(), e.errno(), device.name(), "descriptor " + fileDescriptor, Context.IMPORT_CAPABILITY);
            }
            throw e;
        }
    }

    /** Returns the device whose command channel the descriptor is. */
    private static Device deviceOf(int fileDescriptor) {
        String file;
        try {
            file = Files.readSymbolicLink(Path.of("/proc/self/fd/" + fileDescriptor))
                    .getFileName()
                    .toString();
        } catch (IOException notOpen) {
            throw new IllegalArgumentException("fileDescriptor must be open: " + fileDescriptor, notOpen);
        }
        return DeviceList.query().stream()
                .filter(device -> file.equals(device.providerDevice().deviceFile()))
                .findFirst()
                .orElseThrow(() ->
                        new IllegalArgumentException("fileDescriptor must be the command channel of an RDMA device: "
                                + fileDescriptor + " is " + file));
    }

    static Context open(VerbsArena arena, Device device, Supplier<ProviderContext> opener) {
        return open(arena, device, opener, provider -> adopted(arena, provider, device));
    }

    private static Context open(
            VerbsArena arena,
            Device device,
            Supplier<ProviderContext> opener,
            Function<ProviderContext, Context> adopter) {
        arena.lock().lock();
        try {
            arena.checkOpen();
            return adopter.apply(opener.get());
        } catch (ProviderException e) {
            throw new VerbsException(e.verb(), e.errno(), "device " + device.name(), e.getMessage());
        } finally {
            arena.lock().unlock();
        }
    }

    /** A device that was opened here and got no Java object would never be closed. */
    private static Context adopted(VerbsArena arena, ProviderContext provider, Device device) {
        try {
            return add(arena, provider, device, Ownership.OWNED);
        } catch (Throwable e) {
            int result = provider.close();
            if (result < 0) {
                e.addSuppressed(new VerbsException("ibv_close_device", -result, "device " + device.name(), null));
            }
            throw e;
        }
    }

    private static Context add(VerbsArena arena, ProviderContext provider, Device device, Ownership ownership) {
        Context context = new Context(arena, provider, device);
        if (ownership == Ownership.BORROWED) {
            context.borrow();
        }
        arena.add(context);
        Observed.add(context);
        tell(context);
        return context;
    }

    /** The context is open: what fails here must not keep it from the program, nor have it closed twice. */
    @SuppressWarnings("EmptyCatch")
    private static void tell(Context context) {
        try {
            ManagementStart.registerIfAsked();
            Log.LOGGER.info("opened {}", context);
        } catch (RuntimeException | LinkageError e) {
            // There is nobody to tell: the log itself may be what fails.
        }
    }
}
