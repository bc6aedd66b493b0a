/** chart.js with the matrix chart (heatmaps up to 2,000 cells). */
import { MatrixController, MatrixElement } from 'chartjs-chart-matrix';
import { Chart } from './chart-core.ts';

Chart.register(MatrixController, MatrixElement);

export { Chart };
