package org.rdmapanama;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.ffm.internal.NativeAccess;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.Provider;

/** The sources of devices: libibverbs first, and then the providers in other modules on the path. */
final class Providers {
    /** Null until the providers have been found; a failure is not cached. */
    private static volatile @Nullable List<Provider> all;

    private Providers() {}

    /**
     * Returns all providers, always the same ones.
     *
     * @throws IllegalCallerException when the JVM does not allow calls of C functions
     * @throws VerbsException when too many files are open to look for them
     */
    static List<Provider> all() {
        List<Provider> known = all;
        return known == null ? load() : known;
    }

    private static synchronized List<Provider> load() {
        if (all == null) {
            NativeAccess.require();
            // A class path entry that cannot be read because there is no free descriptor looks as if it did not exist.
            if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
                throw new VerbsException("ibv_get_device_list", Errno.EMFILE, "", FreeDescriptors.CURE);
            }
            List<Provider> providers = new ArrayList<>();
            providers.add(new NativeProvider());
            // Use the class loader of this module, whatever the context class loader of the calling thread is.
            ServiceLoader.load(Provider.class, Provider.class.getClassLoader()).forEach(providers::add);
            all = List.copyOf(providers);
        }
        return all;
    }
}
