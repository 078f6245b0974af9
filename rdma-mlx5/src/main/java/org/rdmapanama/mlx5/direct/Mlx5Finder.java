package org.rdmapanama.mlx5.direct;

import java.util.List;
import java.util.Locale;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.ProviderContext;

/** Finds the direct path of ConnectX cards. */
public final class Mlx5Finder implements DirectPath.Finder {
    /** With these, libmlx5 has the device check a signature of each work request. */
    private static final List<String> SIGNATURES = List.of("MLX5_QP_SIGNATURE", "MLX5_SRQ_SIGNATURE");

    /** For {@link java.util.ServiceLoader}. */
    public Mlx5Finder() {}

    /**
     * Opens the direct path of a device. The order of stores that a device needs is not part of the Java memory model. It
     * holds in the code that HotSpot makes for x86-64.
     *
     * @param context the open device
     * @return the path
     * @throws UnsupportedOperationException on another processor or virtual machine, or without libmlx5
     */
    @Override
    public DirectPath open(ProviderContext context) {
        String machine = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        if (!machine.equals("amd64") && !machine.equals("x86_64")) {
            throw new UnsupportedOperationException(
                    "the direct path of mlx5 needs a processor of type x86-64, and this is " + machine);
        }
        String virtualMachine = System.getProperty("java.vm.name");
        if (!virtualMachine.contains("OpenJDK") && !virtualMachine.contains("HotSpot")) {
            throw new UnsupportedOperationException("the direct path of mlx5 needs HotSpot, the virtual machine of"
                    + " OpenJDK, and this is " + virtualMachine);
        }
        for (String variable : SIGNATURES) {
            if (System.getenv(variable) != null) {
                throw new UnsupportedOperationException(
                        "the direct path of mlx5 writes no signatures, which the environment" + " variable " + variable
                                + " asks for: remove it");
            }
        }
        if (!NativeLibrary.MLX5.isAvailable()) {
            throw new UnsupportedOperationException("the direct path of mlx5 needs libmlx5.so.1, which could not be"
                    + " opened: install the package ibverbs-providers (Debian) or libibverbs (Fedora)");
        }
        return new Mlx5Path(context);
    }
}
