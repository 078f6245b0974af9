package org.rdmapanama;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.apache.logging.log4j.Level;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.internal.Log;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.Provider;
import org.rdmapanama.internal.provider.ProviderDevice;

/** The sources of devices: libibverbs first, and then the providers in other modules on the path. */
final class Providers {
    /** Null until the providers have been found; a failure is not cached. */
    private static volatile @Nullable List<Provider> all;

    private static final File OF_KERNEL = new File("/sys/class/infiniband");

    /** The files through which a program reaches the devices of the kernel. */
    private static final File FILES = new File("/dev/infiniband");

    private Providers() {}

    /**
     * Returns all providers, always the same ones.
     *
     * @throws IllegalCallerException when the JVM does not allow calls of C functions, and there is no software device or it
     *     is not clear that one is wanted
     * @throws VerbsException when too many files are open to look for them
     */
    static List<Provider> all() {
        List<Provider> known = all;
        return known == null ? load() : known;
    }

    private static synchronized List<Provider> load() {
        if (all == null) {
            // A class path entry that cannot be read because there is no free descriptor looks as if it did not exist.
            if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
                throw new VerbsException("ibv_get_device_list", Errno.EMFILE, "", FreeDescriptors.CURE);
            }
            List<Provider> providers = new ArrayList<>();
            if (NativeAccess.ALLOWED) {
                providers.add(new NativeProvider());
            }
            // Use the class loader of this module, whatever the context class loader of the calling thread is.
            ServiceLoader.load(Provider.class, Provider.class.getClassLoader()).forEach(providers::add);
            if (!NativeAccess.ALLOWED) {
                requireSoftware(providers);
            }
            all = List.copyOf(providers);
        }
        return all;
    }

    /**
     * Software devices work without calls of C functions. A program on a machine that has other devices, too, must not get one
     * unawares.
     */
    private static void requireSoftware(List<Provider> providers) {
        String named = System.getenv("RDMA_DEVICE");
        List<String> names = providers.stream()
                .flatMap(each -> each.devices().stream())
                .map(ProviderDevice::name)
                .toList();
        boolean isNamed = named != null && !named.isBlank();
        boolean isWanted = isNamed ? names.contains(named) : isEmpty(OF_KERNEL) && isEmpty(FILES);
        if (names.isEmpty() || !isWanted) {
            NativeAccess.require();
        }
        Log.LOGGER.log(
                isNamed ? Level.INFO : Level.WARN,
                "devices of the kernel are not looked for, and {} is slower than it could be, because the JVM does not allow"
                        + " rdma-panama to call C functions: add {} to the options of the java command",
                String.join(", ", names),
                NativeAccess.option());
    }

    /** Whether a folder is missing or empty; not if nobody can tell. */
    private static boolean isEmpty(File folder) {
        String[] files = folder.list();
        return files == null ? !folder.exists() : files.length == 0;
    }
}
