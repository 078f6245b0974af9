package org.rdmapanama;

import java.util.function.Supplier;
import org.rdmapanama.internal.provider.ProviderContext;

/** What tests in other packages need of the object model, and programs do not. */
public final class Insides {
    private Insides() {}

    /** Opens a device through a provider of the test. */
    public static Context open(VerbsArena arena, Device device, Supplier<ProviderContext> provider) {
        return Context.open(arena, device, provider);
    }

    /** What a context of a device would call. */
    public static ProviderContext provider(Device device) {
        return device.providerDevice().provider().open(device.providerDevice());
    }

    /** What a context calls. */
    public static ProviderContext provider(Context context) {
        return context.provider();
    }

    /** The Q_Key that the options say. */
    public static int qkey(ConnectOptions options) {
        return options.qkey();
    }
}
