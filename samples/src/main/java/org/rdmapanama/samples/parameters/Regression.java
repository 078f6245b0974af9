package org.rdmapanama.samples.parameters;

import java.util.Random;

/** Generated data whose weights are known: the training must find them. Threads: one at a time. */
final class Regression {
    private static final double NOISE = 0.01;

    private final double[] weights;
    private final Random random;

    /** Data of a worker: all workers have the same weights, which follow from the seed, and different samples. */
    Regression(int count, long seed, int worker) {
        Random ofAll = new Random(seed);
        weights = ofAll.doubles(count, -1, 1).toArray();
        random = new Random(seed + 1 + worker);
    }

    double[] weights() {
        return weights.clone();
    }

    /**
     * Computes a step of gradient descent on new samples.
     *
     * @param current the weights so far
     * @param samples how many samples
     * @param rate how far to go
     * @param step receives what is to be added to the weights
     */
    void step(double[] current, int samples, double rate, double[] step) {
        double[] x = new double[weights.length];
        java.util.Arrays.fill(step, 0);
        for (int n = 0; n < samples; n++) {
            double error = random.nextGaussian() * NOISE;
            for (int i = 0; i < x.length; i++) {
                x[i] = random.nextGaussian();
                error += x[i] * (weights[i] - current[i]);
            }
            for (int i = 0; i < x.length; i++) {
                step[i] += rate / samples * error * x[i];
            }
        }
    }

    /** Returns the largest difference between some weights and those that are right. */
    double error(double[] found) {
        double most = 0;
        for (int i = 0; i < weights.length; i++) {
            most = Math.max(most, Math.abs(found[i] - weights[i]));
        }
        return most;
    }
}
