/**
 * The direct path of ConnectX cards, whose driver is mlx5: Java writes the work queues and rings the doorbells itself. It
 * needs no more than to be on the path; see {@link org.rdmapanama.CompletionQueueOptions#direct}.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm,org.rdmapanama,org.rdmapanama.mlx5}.
 */
// The driver is called so.
@SuppressWarnings("module")
module org.rdmapanama.mlx5 {
    requires org.rdmapanama;
    requires org.rdmapanama.ffm;

    provides org.rdmapanama.internal.provider.DirectPath.Finder with
            org.rdmapanama.mlx5.direct.Mlx5Finder;
}
