package org.rdmapanama.mlx5.direct;

import java.util.List;
import org.rdmapanama.ffm.NativeLibrary;
import org.rdmapanama.internal.provider.DirectPath;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.internal.provider.StoreOrder;

/** Finds the direct path of ConnectX cards. */
public final class Mlx5Finder implements DirectPath.Finder {
    /** With these, libmlx5 has the device check a signature of each work request. */
    private static final List<String> SIGNATURES = List.of("MLX5_QP_SIGNATURE", "MLX5_SRQ_SIGNATURE");

    /** For {@link java.util.ServiceLoader}. */
    public Mlx5Finder() {}

    @Override
    public String driver() {
        return "mlx5";
    }

    /**
     * Opens the direct path of a device.
     *
     * @param context the open device
     * @return the path
     * @throws UnsupportedOperationException on another processor or virtual machine, or without libmlx5
     */
    @Override
    public DirectPath open(ProviderContext context) {
        StoreOrder.require(driver());
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
