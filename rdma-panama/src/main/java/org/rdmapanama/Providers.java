package org.rdmapanama;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import org.rdmapanama.internal.libibverbs.NativeProvider;
import org.rdmapanama.internal.provider.Provider;

/** Where devices come from: libibverbs first, and then what further modules on the path provide. */
final class Providers {
    private static final List<Provider> ALL = load();

    private Providers() {}

    static List<Provider> all() {
        return ALL;
    }

    private static List<Provider> load() {
        List<Provider> providers = new ArrayList<>();
        providers.add(new NativeProvider());
        // Those that lie where this module lies, whatever the calling thread's class loader knows.
        ServiceLoader.load(Provider.class, Provider.class.getClassLoader()).forEach(providers::add);
        return List.copyOf(providers);
    }
}
