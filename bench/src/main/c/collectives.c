/*
 * Measures collectives of MPI as 'rdma collective' measures its own: calls one after the other, times of rank 0. Prints a line
 * for each size: the operation, the bytes and the median in microseconds. Checks each all-reduce.
 *
 *   collectives barrier|broadcast|all-gather|all-reduce WARM-UP ITERATIONS COUNT...
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void call(const char *operation, double *in, double *out, long count)
{
    if (!strcmp(operation, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(operation, "broadcast"))
        MPI_Bcast(out, (int)count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    else if (!strcmp(operation, "all-gather"))
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE, out, (int)(count / size), MPI_DOUBLE, MPI_COMM_WORLD);
    else
        MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int measure(const char *operation, int warmUp, int iterations, long count)
{
    double *in = calloc((size_t)count + 1, sizeof *in);
    double *out = calloc((size_t)count + 1, sizeof *out);
    double *times = calloc((size_t)iterations, sizeof *times);
    int wrong = 0;

    for (long i = 0; i < count; i++)
        in[i] = rank + (double)(i % 1000);
    for (int i = 0; i < warmUp; i++)
        call(operation, in, out, count);
    for (int i = 0; i < iterations; i++) {
        double start = MPI_Wtime();
        call(operation, in, out, count);
        times[i] = MPI_Wtime() - start;
    }
    if (!strcmp(operation, "all-reduce"))
        for (long i = 0; i < count; i++)
            wrong |= out[i] != size * (size - 1) / 2 + (double)size * (double)(i % 1000);
    qsort(times, (size_t)iterations, sizeof *times, ascending);
    if (rank == 0)
        printf("%s %ld %.1f\n", operation, count * (long)sizeof *in, 1e6 * times[iterations / 2]);
    fflush(stdout);
    free(in);
    free(out);
    free(times);
    return wrong;
}

int main(int argc, char **argv)
{
    int wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 5) {
        fprintf(stderr, "collectives OPERATION WARM-UP ITERATIONS COUNT...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 4; i < argc; i++)
        wrong |= measure(argv[1], atoi(argv[2]), atoi(argv[3]), atol(argv[i]));
    if (wrong)
        fprintf(stderr, "wrong result on rank %d\n", rank);
    MPI_Finalize();
    return wrong;
}
