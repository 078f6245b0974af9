package org.rdmapanama;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.rdmapanama.ffm.internal.FreeDescriptors;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.Provider;

/** Where devices come from: libibverbs first, and then what further modules on the path provide. */
final class Providers {
    /** Null until they were found: failing to find them is not remembered. */
    private static volatile List<Provider> all;

    private Providers() {}

    /**
     * All of them, the same each time.
     *
     * @throws VerbsException when too many files are open to look for them
     */
    static List<Provider> all() {
        List<Provider> known = all;
        return known == null ? load() : known;
    }

    private static synchronized List<Provider> load() {
        if (all == null) {
            // A class path from which a file cannot be read for want of a descriptor looks as if it did not have it.
            if (FreeDescriptors.check(FreeDescriptors.TO_START) < 0) {
                throw new VerbsException("ibv_get_device_list", Errno.EMFILE.number, "", FreeDescriptors.CURE);
            }
            List<Provider> providers = new ArrayList<>();
            providers.add(new NativeProvider());
            // Those that lie where this module lies, whatever the calling thread's class loader knows.
            ServiceLoader.load(Provider.class, Provider.class.getClassLoader()).forEach(providers::add);
            all = List.copyOf(providers);
        }
        return all;
    }
}
