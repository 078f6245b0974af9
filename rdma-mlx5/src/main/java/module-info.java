/**
 * What the driver of ConnectX cards, mlx5, adds to verbs: queue pairs of the dynamically connected transport, and the
 * functions of {@code infiniband/mlx5dv.h}.
 *
 * <p>Besides, the direct path of these cards: Java writes the work queues and rings the doorbells itself. It needs no more
 * than to be on the path; see {@link org.rdmapanama.CompletionQueueOptions#direct}.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
// The driver is called so.
@SuppressWarnings("module")
module org.rdmapanama.mlx5 {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    requires transitive org.rdmapanama;
    requires org.rdmapanama.ffm;

    exports org.rdmapanama.mlx5;

    provides org.rdmapanama.internal.provider.DirectPath.Finder with
            org.rdmapanama.mlx5.direct.Mlx5Finder;
}
