/**
 * What the driver of EFA, the network of Amazon's cloud, adds to verbs: SRD queue pairs and the functions of {@code
 * infiniband/efadv.h}.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
module org.rdmapanama.efa {
    requires static com.google.errorprone.annotations;
    requires static org.jspecify;
    requires transitive org.rdmapanama;
    requires org.rdmapanama.ffm;

    exports org.rdmapanama.efa;
}
