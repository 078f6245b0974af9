/**
 * The bindings that jextract generates from the C headers of libibverbs and librdmacm and of the drivers of mlx5 and
 * EFA, and the loader of these libraries.
 *
 * <p>Run with {@code --enable-native-access=org.rdmapanama.ffm}.
 */
// The modules that it exports to are compiled later.
@SuppressWarnings("module")
module org.rdmapanama.ffm {
    exports org.rdmapanama.ffm;
    exports org.rdmapanama.ffm.efa;
    exports org.rdmapanama.ffm.mlx5;
    exports org.rdmapanama.ffm.verbs;
    exports org.rdmapanama.ffm.internal to
            org.rdmapanama,
            org.rdmapanama.cm,
            org.rdmapanama.efa,
            org.rdmapanama.mlx5,
            org.rdmapanama.soft;
}
