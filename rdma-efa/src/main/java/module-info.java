/**
 * What the driver of EFA, the network of Amazon's cloud, adds to verbs: SRD queue pairs and the functions of {@code
 * infiniband/efadv.h}.
 *
 * <p>Besides, the direct path of these devices: Java writes the work queues and rings the doorbells itself. It needs no more
 * than to be on the path; see {@link org.rdmapanama.CompletionQueueOptions#direct}.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
module org.rdmapanama.efa {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    requires transitive org.rdmapanama;
    requires org.rdmapanama.ffm;

    exports org.rdmapanama.efa;

    provides org.rdmapanama.internal.provider.DirectPath.Finder with
            org.rdmapanama.efa.direct.EfaFinder;
}
